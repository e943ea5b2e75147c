//! The tools of the agents whose turns a runtime takes.

use std::{sync::Arc, time::Duration};

use model::{RunId, schedule::Zone};
use store::ToolCaller;

use super::Runtime;
use crate::{Error, RunTools, RuntimeFiles, boxed};

/// The caller of the tools of a run at a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeToolCaller {
    /// The run.
    pub run: RunId,
    /// The SHA-256 of the secret of the run.
    pub secret: [u8; 32],
    /// The age at which the heartbeat of the run is stale.
    pub stale_after: Duration,
    /// The zone of a schedule for which the agent names none.
    pub zone: Zone,
}

impl Runtime {
    /// Returns the tools of the agent of a run, whose files are on the machine of the runtime. Returns `None` if the runtime
    /// does not have the run.
    #[boxed]
    pub async fn tools(
        &self,
        caller: RuntimeToolCaller,
        files: Arc<RuntimeFiles>,
    ) -> Result<Option<RunTools>, Error> {
        let RuntimeToolCaller {
            run,
            secret,
            stale_after,
            zone,
        } = caller;
        if !self.owns(run).await? {
            return Ok(None);
        }
        let caller = ToolCaller {
            run,
            secret,
            worker: self.worker.clone(),
            stale_after,
        };
        let service = self.service.clone();
        Ok(Some(RunTools::at_runtime(service, caller, zone, files)))
    }
}
