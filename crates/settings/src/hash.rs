//! A hash that is the same on every machine and in every version: for choices that have to be.

/// The beginning of FNV-1a with 64 bits.
const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a with 64 bits.
pub fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(START, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the authors of FNV.
    #[test]
    fn it_is_fnv_1a() {
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv_1a(text.bytes()), expected, "{text:?}");
        }
    }
}
