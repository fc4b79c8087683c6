//! Tells from an ELF file whether it needs anything from the host it runs on.

use anyhow::{Context as _, bail, ensure};

const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;

/// Fails unless `file` is a 64-bit little-endian ELF program without a loader and without shared libraries.
///
/// A position-independent static program has a dynamic section, but it names no library.
/// Offsets are those of the System V ABI, "Object Files", for `ELFCLASS64`.
pub(crate) fn ensure_static(file: &[u8]) -> anyhow::Result<()> {
    ensure!(
        file.starts_with(b"\x7fELF\x02\x01"),
        "not a 64-bit little-endian ELF file"
    );
    let table = number(file, 32, 8)?;
    let entry_size = number(file, 54, 2)?;
    let entries = number(file, 56, 2)?;
    for index in 0..entries {
        let header = table.saturating_add(index.saturating_mul(entry_size));
        match number(file, header, 4)? as u32 {
            PT_INTERP => bail!("it asks for a dynamic loader"),
            PT_DYNAMIC => {
                let start = number(file, header.saturating_add(8), 8)?;
                let size = number(file, header.saturating_add(32), 8)?;
                ensure_no_library(file, start, size)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn ensure_no_library(file: &[u8], start: u64, size: u64) -> anyhow::Result<()> {
    for offset in (0..size).step_by(16) {
        match number(file, start.saturating_add(offset), 8)? {
            DT_NULL => return Ok(()),
            DT_NEEDED => bail!("it needs a shared library"),
            _ => {}
        }
    }
    Ok(())
}

/// Reads a little-endian number of `width` bytes, at most 8.
fn number(file: &[u8], offset: u64, width: usize) -> anyhow::Result<u64> {
    let bytes = usize::try_from(offset)
        .ok()
        .and_then(|start| file.get(start..start.checked_add(width)?))
        .with_context(|| format!("the file ends before byte {offset}"))?;
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(bytes);
    Ok(u64::from_le_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an ELF file with one program header and, behind it, a dynamic section with the given tags.
    fn elf(segment: u32, tags: &[u64]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64..68].copy_from_slice(&segment.to_le_bytes());
        file[72] = 120;
        file[96] = u8::try_from(tags.len() * 16).unwrap();
        for tag in tags {
            file.extend(tag.to_le_bytes());
            file.extend([0; 8]);
        }
        file
    }

    #[test]
    fn static_programs_pass() {
        ensure_static(&elf(1, &[])).unwrap();
        ensure_static(&elf(PT_DYNAMIC, &[5, DT_NULL])).unwrap();
        ensure_static(&elf(PT_DYNAMIC, &[DT_NULL, DT_NEEDED])).unwrap();
    }

    #[test]
    fn a_loader_or_a_library_is_refused() {
        assert!(ensure_static(&elf(PT_INTERP, &[])).is_err());
        assert!(ensure_static(&elf(PT_DYNAMIC, &[5, DT_NEEDED, DT_NULL])).is_err());
    }

    /// cargo links its tests against the C library of the system.
    #[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
    #[test]
    fn the_program_that_runs_this_test_is_refused() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(
            ensure_static(&own).unwrap_err().to_string(),
            "it asks for a dynamic loader"
        );
    }

    #[test]
    fn other_files_are_refused_at_every_length() {
        assert!(ensure_static(b"#!/bin/sh\n").is_err());
        let whole = elf(PT_DYNAMIC, &[5, 6, 7]);
        for end in 0..whole.len() - 8 {
            assert!(ensure_static(&whole[..end]).is_err(), "cut at {end}");
        }
    }
}
