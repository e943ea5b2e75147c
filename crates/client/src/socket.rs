//! Addresses of Unix sockets, however long their paths are.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The longest path that the address of a socket surely holds, in bytes (108 on Linux).
const ADDRESS_BYTES: usize = 100;

/// The address of a socket, to listen or to connect. A path that is too long for one leads through a
/// descriptor of its folder, which stays open as long as the address is there.
#[derive(Debug, Clone)]
pub struct SocketAddress {
    path: PathBuf,
    _folder: Option<Arc<File>>,
}

impl SocketAddress {
    /// The address of the socket at a path. Fails where the path is too long and its folder cannot be opened.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= ADDRESS_BYTES {
            return Ok(Self {
                path: path.to_owned(),
                _folder: None,
            });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd")
            .join(folder.as_raw_fd().to_string())
            .join(name);
        Ok(Self {
            path,
            _folder: Some(Arc::new(folder)),
        })
    }

    /// The path to listen at or to connect to, while the address is there.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_path_longer_than_an_address_is_listened_at_and_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(150));
        std::fs::create_dir(&deep).unwrap();
        let address = SocketAddress::of(&deep.join("matins.sock")).unwrap();
        let _listener = UnixListener::bind(address.path()).unwrap();
        assert!(deep.join("matins.sock").exists());
        UnixStream::connect(address.path()).unwrap();
    }
}
