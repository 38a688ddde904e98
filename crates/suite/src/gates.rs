//! Gates files: what `mcprove score --gates` and the agents of a suite hold traces to.

use crate::prelude::*;

pub use mcprove_score::gate::file::{
    block_properties, definitions, expectations_of, from_document, is_block, names, parse_yaml,
    read_blocks, schema,
};
pub use mcprove_settings::table::spellings;

/// Reads a gates file.
pub fn read(path: &Path) -> Result<Gates, ConfigErrors> {
    let wanted = Wanted {
        when_missing: || "check the path of the gates".into(),
        when_too_large: || {
            sentence!(
                "are these gates at all?{}",
                command(" ", "schema gates", " describes them")
            )
        },
    };
    from_document(&Document::read(path, Document::from_yaml, wanted)?)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn files_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&folder.path().join("gates.yml"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("cannot be read"), "{missing}");
        assert!(missing.contains("hint: check the path"), "{missing}");
        let directory = read(folder.path()).unwrap_err().to_string();
        assert!(directory.contains("cannot be read"), "{directory}");
        let binary = folder.path().join("binary.yml");
        std::fs::write(&binary, b"narrative: {}\nx: \xff\xfe\x00").unwrap();
        let printed = read(&binary).unwrap_err().to_string();
        assert!(
            printed.contains("binary.yml:2:4: is not UTF-8"),
            "{printed}"
        );
        let good = folder.path().join("good.yml");
        std::fs::write(&good, "\u{feff}narrative: {}\r\n").unwrap();
        assert!(read(&good).unwrap().get("narrative").is_some());
    }
}
