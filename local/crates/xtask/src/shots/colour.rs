//! The colours of a terminal as they stand in a picture.

/// A colour with its parts from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

/// What is behind text that asks for no colour.
pub(super) const BACKGROUND: Rgb = Rgb(0x1b, 0x1e, 0x26);
/// Text that asks for no colour.
pub(super) const FOREGROUND: Rgb = Rgb(0xd8, 0xdc, 0xe4);
/// The bar above the screen.
pub(super) const BAR: Rgb = Rgb(0x2a, 0x2e, 0x39);
/// The words in the bar.
pub(super) const CAPTION: Rgb = Rgb(0x9a, 0xa2, 0xb1);

/// The sixteen colours that a terminal may choose itself; readable on [`BACKGROUND`].
const NAMED: [Rgb; 16] = [
    Rgb(0x3b, 0x40, 0x4d),
    Rgb(0xe0, 0x6c, 0x75),
    Rgb(0x8f, 0xc3, 0x79),
    Rgb(0xe0, 0xb8, 0x6b),
    Rgb(0x6c, 0xa8, 0xf0),
    Rgb(0xc5, 0x80, 0xdc),
    Rgb(0x5c, 0xba, 0xc4),
    Rgb(0xc3, 0xc8, 0xd2),
    Rgb(0x78, 0x80, 0x90),
    Rgb(0xf2, 0x8b, 0x93),
    Rgb(0xac, 0xdb, 0x97),
    Rgb(0xf2, 0xd0, 0x8c),
    Rgb(0x91, 0xc2, 0xff),
    Rgb(0xdb, 0xa3, 0xee),
    Rgb(0x85, 0xd6, 0xdf),
    Rgb(0xf4, 0xf6, 0xfa),
];

/// Gives a colour of the table of 256: the named ones, a cube of 6 by 6 by 6, and 24 greys.
pub(super) fn indexed(index: u8) -> Rgb {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..16 => NAMED[usize::from(index)],
        16..232 => {
            let cube = index - 16;
            Rgb(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

impl Rgb {
    /// Gives the colour between this one and another.
    pub(super) fn halfway(self, other: Self) -> Self {
        let middle = |a: u8, b: u8| a.midpoint(b);
        Self(
            middle(self.0, other.0),
            middle(self.1, other.1),
            middle(self.2, other.2),
        )
    }

    /// Writes it as SVG does.
    pub(super) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_cube_and_greys() {
        assert_eq!(indexed(16), Rgb(0, 0, 0));
        assert_eq!(indexed(231), Rgb(255, 255, 255));
        assert_eq!(indexed(196), Rgb(255, 0, 0));
        assert_eq!(indexed(232), Rgb(8, 8, 8));
        assert_eq!(indexed(255), Rgb(238, 238, 238));
        assert_eq!(Rgb(0, 10, 255).halfway(Rgb(2, 20, 255)).hex(), "#010fff");
    }
}
