//! Reading, hashing and copying at once.

use std::io::{self, Read, Write};

use model::artifact::ContentHash;
use sha2::{Digest as _, Sha256};

/// The number of bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Copies everything from a reader to a writer. Returns the hash and the number of the bytes.
pub(crate) fn copy_and_hash(
    from: &mut impl Read,
    to: &mut impl Write,
) -> Result<(ContentHash, u64), CopyError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => &buffer[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        hasher.update(read);
        to.write_all(read).map_err(CopyError::Write)?;
        size += read.len() as u64;
    }
    Ok((ContentHash::new(hasher.finalize().into()), size))
}

/// The side of a copy that failed.
#[derive(Debug)]
pub(crate) enum CopyError {
    Read(io::Error),
    Write(io::Error),
}
