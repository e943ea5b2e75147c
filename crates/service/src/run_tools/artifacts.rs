//! The artifacts that the agent of a turn saves, lists and gets.

use std::{io::Read as _, path::Path};

use api_types::Page;
use artifacts::{StoredContent, WorkingDirectory};
use model::{
    artifact::{
        Artifact, ArtifactContent, MAX_ARTIFACT_NAME_CHARS, MAX_ARTIFACT_TEXT_BYTES,
        MAX_ARTIFACT_URI_BYTES, MAX_RETURNED_TEXT_BYTES, is_media_type,
    },
    is_one_line,
};
use store::NewArtifact;
use url::Url;

use super::{
    RunTools,
    agent_files::{AgentFiles, NeededFile, RuntimeFiles, SentFile},
};
use crate::{Error, artifacts::block, boxed};

/// The number of artifacts in one answer to an agent.
const PAGE_ITEMS: u32 = 50;
/// The schemes of addresses that are refused, because a browser or a program that opens the address would read local
/// files or run a script.
const REFUSED_SCHEMES: [&str; 3] = ["file", "javascript", "data"];
/// The media type of a text for which the agent names none.
const TEXT_MEDIA_TYPE: &str = "text/plain; charset=utf-8";
/// The media type of a file or an address for which the agent names none.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// A file or an address that an agent hands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactSave {
    /// The name within the session.
    pub name: String,
    /// The source of the content.
    pub source: ArtifactSource,
    /// The media type.
    pub media_type: Option<String>,
}

/// The source of the content of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactSource {
    /// The path of a file in the working directory of the session.
    Path(String),
    /// A text.
    Text(String),
    /// An address.
    Uri(String),
}

/// The content of an artifact, as an agent gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactCopy {
    /// The content is this text.
    Text(String),
    /// The content is in the file that the agent named.
    File,
    /// The artifact is an address.
    Uri(String),
}

impl RunTools {
    /// Saves an artifact, and returns its version. A repetition returns the version that the first call has saved.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the file changes while it is read, or if a limit is reached.
    #[boxed]
    pub async fn save_artifact(&self, request: &ArtifactSave) -> Result<Artifact, Error> {
        // 1. Whether the turn still runs, before anything is read.
        let turn = self.turn(self.service.now()).await?;
        // 2. The fields.
        let name = validate_name(&request.name)?;
        let default = match request.source {
            ArtifactSource::Text(_) => TEXT_MEDIA_TYPE,
            _ => UNKNOWN_MEDIA_TYPE,
        };
        let media_type = request.media_type.as_deref().unwrap_or(default);
        if !is_media_type(media_type) {
            let problem = "accepted are types such as `text/markdown` or `image/png`";
            return Err(Error::invalid("media_type", media_type, problem));
        }
        // 3. The content comes before its row, so that no row refers to nothing. `stored` keeps it until the row is
        // committed.
        let (content, stored) = match &request.source {
            ArtifactSource::Uri(uri) => (ArtifactContent::Uri(validate_uri(uri)?), None),
            ArtifactSource::Path(path) => {
                let (content, stored) = self.store_file(&turn, path.clone()).await?;
                (content, Some(stored))
            }
            ArtifactSource::Text(text) => {
                let (content, stored) = self.store_text(&turn, text.clone()).await?;
                (content, Some(stored))
            }
        };
        let new = NewArtifact {
            name,
            media_type: media_type.to_owned(),
            content,
        };
        let now = self.service.now();
        let saved = self.service.store.save_artifact(&self.caller, &new, now);
        let saved = saved.await;
        drop(stored);
        Ok(saved?)
    }

    /// Lists the artifacts of the session whose names begin with `prefix`, each version, the newest first. `after` is the
    /// `next` of the page before.
    ///
    /// # Errors
    ///
    /// As [`crate::Service::run_tools`], and if `after` is not the ID of an artifact.
    #[boxed]
    pub async fn list_artifacts(
        &self,
        prefix: Option<&str>,
        after: Option<&str>,
    ) -> Result<Page<Artifact>, Error> {
        let turn = self.turn(self.service.now()).await?;
        let after = match after {
            Some(given) => Some(given.parse().map_err(|error: model::InvalidId| {
                Error::invalid("after", given, error.to_string())
            })?),
            None => None,
        };
        let page = store::Page {
            after,
            limit: PAGE_ITEMS + 1,
        };
        let found = self
            .service
            .store
            .artifact_page(turn.tenant, turn.session.id, prefix.unwrap_or(""), page)
            .await?;
        Ok(Page::of(found, PAGE_ITEMS, |artifact| {
            artifact.id.to_string()
        }))
    }

    /// Returns an artifact of the session and its content: in the new file at `path`, or as a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the session has no such version, if its content cannot be read here, if the content is no text
    /// or too long for one, or if another file is at `path`.
    #[boxed]
    pub async fn get_artifact(
        &self,
        name: &str,
        version: Option<i64>,
        path: Option<&str>,
    ) -> Result<(Artifact, ArtifactCopy), Error> {
        let turn = self.turn(self.service.now()).await?;
        if let Some(SentFile::Failed(error)) = self.sent_file() {
            return Err(error.into());
        }
        let scope = self.service.scope();
        let found = self
            .service
            .store
            .artifact_by_name(scope, turn.session.id, name, version)
            .await?;
        let artifact = found.ok_or_else(|| Error::NotFound {
            what: "artifact",
            given: match version {
                Some(version) => format!("{name}, version {version}"),
                None => name.to_owned(),
            },
            nearest: None,
        })?;
        if let ArtifactContent::Uri(uri) = &artifact.content {
            let copy = ArtifactCopy::Uri(uri.clone());
            return Ok((artifact, copy));
        }
        let mut content = self.service.open_content(&artifact).await?;
        let copy = match path {
            Some(path) => {
                let path = path.to_owned();
                match &self.files {
                    AgentFiles::Here => {
                        let cwd = self.working_directory(&turn);
                        block(move || {
                            WorkingDirectory::open(Path::new(&cwd))?.write_new(&path, content)
                        })
                        .await?;
                    }
                    AgentFiles::AtRuntime(files) => files.need(NeededFile::Write { path, content }),
                }
                ArtifactCopy::File
            }
            None if content.size > MAX_RETURNED_TEXT_BYTES => {
                return Err(no_text(&format!(
                    "it has {} bytes, and a text has up to {MAX_RETURNED_TEXT_BYTES}",
                    content.size
                )));
            }
            None => {
                let mut text = String::new();
                // The content is small and in the cache, because it has just been hashed.
                let read = content.file.read_to_string(&mut text);
                read.map_err(|_| no_text("it is no text"))?;
                ArtifactCopy::Text(text)
            }
        };
        Ok((artifact, copy))
    }

    /// Returns the working directory of a turn on this server, which takes the turn.
    fn working_directory(&self, turn: &store::CallingTurn) -> String {
        let store = &self.service.store;
        store.seat_directory(&turn.session, &turn.seat)
    }

    /// Takes the file that the runtime of the agent has sent.
    fn sent_file(&self) -> Option<SentFile> {
        match &self.files {
            AgentFiles::Here => None,
            AgentFiles::AtRuntime(files) => files.take_sent(),
        }
    }

    /// Stores the content of a file that a runtime has sent, or notes that the tool needs it.
    async fn store_sent_file(
        &self,
        turn: &store::CallingTurn,
        files: &RuntimeFiles,
        path: String,
    ) -> Result<(ArtifactContent, StoredContent), Error> {
        match self.sent_file() {
            Some(SentFile::Failed(error)) => Err(error.into()),
            Some(SentFile::Content {
                path: sent,
                size,
                content,
            }) if sent == path => {
                let tenant = turn.tenant;
                let store = move |folder: artifacts::ContentFolder| {
                    folder.store_received(tenant, &path, size, content)
                };
                self.store_content(store).await
            }
            _ => {
                files.need(NeededFile::Read { path });
                // The runtime sends the file, and the agent never sees this error.
                let reason = "the file is on the machine of the runtime".into();
                Err(Error::NotAllowed { reason })
            }
        }
    }

    /// Stores the content of a file in the working directory of the session.
    async fn store_file(
        &self,
        turn: &store::CallingTurn,
        path: String,
    ) -> Result<(ArtifactContent, StoredContent), Error> {
        if let AgentFiles::AtRuntime(files) = &self.files {
            return self.store_sent_file(turn, files, path).await;
        }
        let (cwd, tenant) = (self.working_directory(turn), turn.tenant);
        self.store_content(move |folder| {
            let source = WorkingDirectory::open(Path::new(&cwd))?.open_file(&path)?;
            folder.store_file(tenant, &source)
        })
        .await
    }

    /// Stores a text.
    async fn store_text(
        &self,
        turn: &store::CallingTurn,
        text: String,
    ) -> Result<(ArtifactContent, StoredContent), Error> {
        if text.len() > MAX_ARTIFACT_TEXT_BYTES {
            let problem = format!(
                "it has {} bytes, accepted are up to {MAX_ARTIFACT_TEXT_BYTES}; a longer content needs `path`",
                text.len()
            );
            return Err(Error::invalid("text", &text, problem));
        }
        let tenant = turn.tenant;
        self.store_content(move |folder| folder.store_text(tenant, &text))
            .await
    }

    async fn store_content(
        &self,
        store: impl FnOnce(artifacts::ContentFolder) -> Result<StoredContent, artifacts::Error>
        + Send
        + 'static,
    ) -> Result<(ArtifactContent, StoredContent), Error> {
        let Some(files) = self.service.artifact_files.clone() else {
            return Err(Error::NotAllowed {
                reason: "this process has no folder for contents; an address (`uri`) can be saved"
                    .into(),
            });
        };
        let stored = block(move || store(files.folder)).await?;
        let content = ArtifactContent::Stored {
            sha256: stored.sha256,
            size: stored.size,
            instance: files.instance,
        };
        Ok((content, stored))
    }
}

fn no_text(problem: &str) -> Error {
    Error::Missing {
        field: "path",
        expected: format!("the content is returned in a file alone, because {problem}"),
    }
}

/// Returns a valid name: a label of one line.
fn validate_name(given: &str) -> Result<String, Error> {
    if given.chars().count() <= MAX_ARTIFACT_NAME_CHARS && is_one_line(given) {
        return Ok(given.to_owned());
    }
    let problem = format!(
        "accepted are 1 to {MAX_ARTIFACT_NAME_CHARS} characters on one line, without spaces at the ends"
    );
    Err(Error::invalid("name", given, problem))
}

/// Returns a valid address.
fn validate_uri(given: &str) -> Result<String, Error> {
    let refuse = |problem: String| Err(Error::invalid("uri", given, problem));
    if given.len() > MAX_ARTIFACT_URI_BYTES {
        return refuse(format!(
            "it has {} bytes, accepted are up to {MAX_ARTIFACT_URI_BYTES}",
            given.len()
        ));
    }
    // The parser drops some of these, so that the address would be another one than it looks like.
    if given
        .chars()
        .any(|char| char.is_control() || char.is_whitespace())
    {
        return refuse("it contains a space or a control character".into());
    }
    match Url::parse(given) {
        Ok(url) if REFUSED_SCHEMES.contains(&url.scheme()) => refuse(format!(
            "addresses with `{}:` are not accepted; a file is saved by `path`, a content by `text`",
            url.scheme()
        )),
        Ok(_) => Ok(given.to_owned()),
        Err(error) => refuse(format!(
            "{error}; accepted is an absolute address such as https://example.com/report"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_no_label_is_refused() {
        let long = "ž".repeat(201);
        for refused in ["", " report", "report\n", "a\u{0}b", "a\u{1b}[2J", &long] {
            let error = validate_name(refused).unwrap_err().to_string();
            assert!(error.contains("1 to 200 characters"), "{error}");
        }
        let longest = "ž".repeat(200);
        for accepted in ["report", "../../etc/passwd", "a\"b; c", &longest] {
            assert_eq!(validate_name(accepted).unwrap(), accepted);
        }
    }

    #[test]
    fn address_that_would_open_a_file_or_a_script_is_refused() {
        let long = format!("https://example.com/{}", "x".repeat(2048));
        for (refused, problem) in [
            ("", "absolute address"),
            ("report.html", "absolute address"),
            ("//example.com/report", "absolute address"),
            ("file:///etc/passwd", "`file:`"),
            ("FILE:/etc/passwd", "`file:`"),
            ("JavaScript:alert(1)", "`javascript:`"),
            ("java\nscript:alert(1)", "control character"),
            (" https://example.com", "space"),
            ("data:text/html,<script>", "`data:`"),
            (&long, "up to 2048"),
        ] {
            let error = validate_uri(refused).unwrap_err().to_string();
            assert!(error.contains(problem), "{refused}: {error}");
        }
        for accepted in [
            "https://example.com/report?draft=1#top",
            "s3://bucket/key",
            "urn:isbn:9780306406157",
        ] {
            assert_eq!(validate_uri(accepted).unwrap(), accepted);
        }
    }
}
