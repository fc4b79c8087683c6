//! Reads from an ELF file whether it needs anything from the host it runs on, and what it consists of.

use anyhow::{Context as _, bail, ensure};

const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHF_ALLOC: u64 = 2;
const STT_OBJECT: u64 = 1;
const STT_FUNC: u64 = 2;

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

/// A part of the file that is loaded, or described in the file without being loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    kind: u32,
    /// Whether it takes room in memory when the program runs.
    pub(crate) is_loaded: bool,
    offset: u64,
    pub(crate) size: u64,
    /// For a symbol table, the number of the section with its names.
    link: u64,
}

impl Section<'_> {
    /// Says whether it takes room in the file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.kind != SHT_NOBITS
    }
}

/// A named piece of code or data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// Lists the sections in the order of the file.
pub(crate) fn sections(file: &[u8]) -> anyhow::Result<Vec<Section<'_>>> {
    let table = number(file, 40, 8)?;
    let entry_size = number(file, 58, 2)?;
    let header = |index: u64| table.saturating_add(index.saturating_mul(entry_size));
    let names = number(file, header(number(file, 62, 2)?).saturating_add(24), 8)?;
    (0..number(file, 60, 2)?)
        .map(|index| {
            let field = |offset, width| number(file, header(index).saturating_add(offset), width);
            Ok(Section {
                name: text(file, names.saturating_add(field(0, 4)?))?,
                kind: field(4, 4)? as u32,
                is_loaded: field(8, 8)? & SHF_ALLOC != 0,
                offset: field(24, 8)?,
                size: field(32, 8)?,
                link: field(40, 4)?,
            })
        })
        .collect()
}

/// Lists the functions and data that have a size, once per address: several names may share one.
pub(crate) fn symbols(file: &[u8]) -> anyhow::Result<Vec<Symbol<'_>>> {
    let sections = sections(file)?;
    let table = sections.iter().find(|section| section.kind == SHT_SYMTAB);
    let table = table.context("it has no symbol table: was it stripped?")?;
    let names = usize::try_from(table.link)
        .ok()
        .and_then(|index| sections.get(index));
    let names = names.context("its symbols have no names")?.offset;
    let mut symbols = Vec::new();
    for offset in (0..table.size).step_by(24) {
        let field = |at, width| {
            number(
                file,
                table.offset.saturating_add(offset).saturating_add(at),
                width,
            )
        };
        let is_code_or_data = matches!(field(4, 1)? & 0xf, STT_OBJECT | STT_FUNC);
        let is_here = field(6, 2)? != 0;
        let size = field(16, 8)?;
        if is_code_or_data && is_here && size > 0 {
            symbols.push(Symbol {
                name: text(file, names.saturating_add(field(0, 4)?))?,
                address: field(8, 8)?,
                size,
            });
        }
    }
    symbols.sort_by_key(|symbol| symbol.address);
    symbols.dedup_by_key(|symbol| symbol.address);
    Ok(symbols)
}

/// Reads a text that ends with a zero byte.
fn text(file: &[u8], offset: u64) -> anyhow::Result<&str> {
    let rest = usize::try_from(offset).ok().and_then(|start| file.get(start..));
    let rest = rest.with_context(|| format!("the file ends before byte {offset}"))?;
    let bytes = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(bytes).with_context(|| format!("the name at byte {offset} is not UTF-8"))
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
    fn this_program_knows_what_it_consists_of() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let sections = sections(&own).unwrap();
        let code = sections.iter().find(|section| section.name == ".text").unwrap();
        let zeroed = sections.iter().find(|section| section.name == ".bss").unwrap();
        assert!(code.is_loaded && code.is_in_file() && !zeroed.is_in_file());
        let symbols = symbols(&own).unwrap();
        let functions: u64 = symbols.iter().map(|symbol| symbol.size).sum();
        assert!(functions > code.size / 2, "{functions} of {}", code.size);
        assert!(
            symbols
                .iter()
                .any(|symbol| symbol.name.contains("this_program_knows"))
        );
        assert!(super::symbols(&own[..own.len() / 2]).is_err());
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
