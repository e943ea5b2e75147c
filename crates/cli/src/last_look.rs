//! Remembers when `matins status` was last used with each server or data folder, in a file of the user.

use std::{collections::BTreeMap, fs, io, path::Path};

use model::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// The format of the file. A file with another one is not read, and is replaced.
const FORMAT: u32 = 1;

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Looks {
    format: u32,
    /// The instant of the last look, by the address of the server or the path of the data folder.
    looks: BTreeMap<String, Timestamp>,
}

/// Returns the instant of the last look at a server. Returns `None` if there was none, or if the file cannot be read:
/// a lost memory must not hide what runs.
pub(crate) fn read(path: &Path, server: &str) -> Option<Timestamp> {
    read_all(path).looks.remove(server)
}

/// Records a look at a server. The file changes as a whole, so that a crash leaves the former one.
pub(crate) fn write(path: &Path, server: &str, at: Timestamp) -> io::Result<()> {
    let mut all = read_all(path);
    all.format = FORMAT;
    all.looks.insert(server.to_owned(), at);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, &all)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn read_all(path: &Path) -> Looks {
    let read = fs::read(path).ok();
    let looks = read.and_then(|text| serde_json::from_slice::<Looks>(&text).ok());
    looks
        .filter(|looks| looks.format == FORMAT)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn each_server_has_a_look_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matins/looks.json");
        assert_eq!(read(&path, "/a"), None);
        write(&path, "/a", instant("2026-11-19T08:00:00Z")).unwrap();
        write(&path, "/b", instant("2026-11-19T09:00:00Z")).unwrap();
        write(&path, "/a", instant("2026-11-19T10:00:00Z")).unwrap();
        assert_eq!(read(&path, "/a"), Some(instant("2026-11-19T10:00:00Z")));
        assert_eq!(read(&path, "/b"), Some(instant("2026-11-19T09:00:00Z")));
    }

    #[test]
    fn broken_file_and_other_format_count_as_no_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("looks.json");
        let newer = r#"{"format":2,"looks":{"/a":"2026-11-19T08:00:00Z"}}"#;
        for text in ["", r#"{"format":1,"loo"#, newer] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path, "/a"), None, "{text}");
            write(&path, "/a", instant("2026-11-19T10:00:00Z")).unwrap();
            assert_eq!(read(&path, "/a"), Some(instant("2026-11-19T10:00:00Z")));
        }
    }
}
