//! The inputs of tools in approvals: lists show the beginning of a long input, and the whole is stored beside it.

use std::time::Duration;

use model::{approval::ApprovalRequest, limits, turn::WriteOutcome};
use serde_json::json;
use store::{Error, Scope};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn long_approval_input_is_read_whole(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, run) = stage.running_turn().await;
    let request = async |input| {
        let id = stage.approval_id();
        let request = ApprovalRequest::new("execute", "x", "call-1", input);
        let deadline = stage.now() + Duration::from_mins(10);
        let requested = stage
            .store
            .request_approval(run, &stage.worker, id, &request, deadline, stage.now())
            .await;
        assert_eq!(requested.unwrap(), WriteOutcome::Committed);
        let shown = stage.approval(id).await.request;
        let input = stage.store.approval_input(stage.scope(), id).await;
        (shown, input.unwrap())
    };
    let (shown, input) = request(None).await;
    assert_eq!((shown.input_cut, input.value), (false, None));
    let (shown, input) = request(Some(json!({"command": "ls"}))).await;
    assert_eq!(shown.input, input.value);
    // Lists show the beginning, and the whole input is stored beside it, also with characters that are no text.
    let long = json!({"command": "ä\u{0}\u{1b}".repeat(limits::APPROVAL_INPUT_BYTES)});
    let (shown, input) = request(Some(long.clone())).await;
    assert!(shown.input_cut && !input.cut, "{shown:?}");
    assert_eq!(input.value, Some(long));
    let endless = json!(["x".repeat(2 * limits::APPROVAL_LONG_INPUT_BYTES)]);
    let (shown, input) = request(Some(endless.clone())).await;
    assert!(shown.input_cut && input.cut);
    assert_eq!(input.bytes, Some(endless.to_string().len() as u64));
    let text = input.value.unwrap();
    let text = text.as_str().unwrap();
    assert_eq!(text.len(), limits::APPROVAL_LONG_INPUT_BYTES);
    assert!(endless.to_string().starts_with(text));
    let absent = stage
        .store
        .approval_input(stage.scope(), stage.approval_id())
        .await;
    assert!(matches!(absent, Err(Error::NotFound { .. })), "{absent:?}");
}

pub(crate) async fn approval_input_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, run) = stage.running_turn().await;
    let id = stage.request_approval(run).await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let found = stage.store.approval_input(other, id).await;
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
}
