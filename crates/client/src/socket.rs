//! Addresses of Unix sockets with paths of any length.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The maximum length of a socket path, in bytes, below the limit of Linux (108 bytes).
const MAX_ADDRESS_BYTES: usize = 100;

/// The address of a Unix socket, for listening or connecting. A path that is too long for the operating system goes
/// through a descriptor of its folder (`/proc/self/fd`), which stays open as long as the address exists.
#[derive(Debug, Clone)]
pub struct SocketAddress {
    path: PathBuf,
    _folder: Option<Arc<File>>,
}

impl SocketAddress {
    /// Returns the address of the socket at a path.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is too long and its folder cannot be opened.
    pub fn for_path(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= MAX_ADDRESS_BYTES {
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

    /// Returns the path for listening or connecting. The path is valid only while the address exists.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn socket_path_over_os_limit_can_be_bound_and_connected() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(150));
        std::fs::create_dir(&deep).unwrap();
        let address = SocketAddress::for_path(&deep.join("matins.sock")).unwrap();
        let _listener = UnixListener::bind(address.path()).unwrap();
        assert!(deep.join("matins.sock").exists());
        UnixStream::connect(address.path()).unwrap();
    }
}
