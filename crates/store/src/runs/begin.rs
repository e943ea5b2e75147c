//! The start of the turns of claimed runs.
//!
//! **Invariants:** only the worker that has claimed a run can begin its turn. Budgets are read under the locks of the
//! tenant and the automation, so that two turns cannot both use the last of a budget.

use std::collections::{BTreeSet, HashMap, HashSet};

use model::{
    AutomationId, InstanceId, RunId, TenantId, Timestamp, WorkerId,
    automation::AutomationState,
    entity::{Automation, Run},
    event::RunChange,
    outcome::{FailureKind, Outcome, RunFailure},
    owner::RunOwner,
    prompt::RenderedPrompt,
    run::RunState,
    schedule::Spec,
    seat_message::NO_MESSAGE_LEFT,
    session::Admission,
    transcript,
    turn::{Assignment, Entry, EntryKind, Role, StartReply, TurnResult},
};
use serde_json::json;

use crate::batches::StartRequest;
use crate::{
    Error, Scope, boxed,
    database::Tx,
    locks::lock_runs,
    runs::{
        admit::defer_run,
        begin_again::begin_again,
        directory::refuse_without_directory,
        end,
        goals::count_begun_turns,
        heartbeat::set_running,
        over_budget::refuse_over_budget,
        precheck::{build_precheck, runs_needing_precheck},
        requeue::{requeue, requeue_at_files},
        run_report::add_run_reports,
        seat_opening::open_memories,
        start_candidate::StartCandidate,
        task_memories::{TaskMemories, pin_memories},
        turn_context::{TurnContext, read_sessions_and_seats},
    },
    seat_message_rows::record_carried,
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
    usage::{self, Budgets, TurnUsage},
};

impl Store {
    /// Begins the turn of a run that `worker` has claimed. The run becomes `running`, the transcript shows the input,
    /// the internal record stores the prompt, and the seat is pinned to `instance`.
    ///
    /// Returns [`StartReply::RunPrecheck`] and changes nothing if the precheck of the run must run first. The precheck
    /// is skipped if an earlier attempt at the same input has begun its turn.
    ///
    /// `secret` is the SHA-256 of a secret that only the caller knows. A repetition with the same secret, whose first
    /// reply was lost, gets the same assignment while the run is `running`.
    #[boxed]
    pub async fn begin(
        &self,
        run: RunId,
        worker: &WorkerId,
        instance: InstanceId,
        now: Timestamp,
        secret: Option<[u8; 32]>,
    ) -> Result<StartReply, Error> {
        self.submit_begin(run, worker, instance, (false, secret), now)
            .await
    }

    /// Begins the turn of a run whose precheck has run and has not declined.
    #[boxed]
    pub async fn begin_after_precheck(
        &self,
        run: RunId,
        worker: &WorkerId,
        instance: InstanceId,
        now: Timestamp,
        secret: Option<[u8; 32]>,
    ) -> Result<StartReply, Error> {
        self.submit_begin(run, worker, instance, (true, secret), now)
            .await
    }

    async fn submit_begin(
        &self,
        run: RunId,
        worker: &WorkerId,
        instance: InstanceId,
        (precheck_done, secret): (bool, Option<[u8; 32]>),
        now: Timestamp,
    ) -> Result<StartReply, Error> {
        let request = StartRequest {
            run,
            worker: worker.clone(),
            instance,
            directory_missing: false,
            precheck_done,
            secret,
            now,
        };
        self.batches
            .begin
            .submit(self, request, |store, all| Box::pin(store.begin_batch(all)))
            .await
    }

    /// Begins the turns of runs that one worker has claimed, in one transaction. Returns one reply for each request,
    /// in the order of the requests.
    pub(crate) async fn begin_batch(&self, all: &[StartRequest]) -> Result<Vec<StartReply>, Error> {
        let (Some(first), Some(now)) = (all.first(), all.iter().map(|request| request.now).max())
        else {
            return Ok(Vec::new());
        };
        let (worker, instance) = (&first.worker, first.instance);
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock: tenants with a budget, then automations, then seats.
                let ids: Vec<RunId> = all.iter().map(|request| request.run).collect();
                let (tenants, unsupported_tenants) = usage::lock_budgets(tx, &ids).await?;
                let prechecked = runs_with(all, |request| request.precheck_done);
                let without_directory = runs_with(all, |request| request.directory_missing);
                let secrets = secrets_of(all);
                let mut locked = lock_runs(tx, &ids).await?;
                // 2. Read the rows on which the decisions depend.
                let (sessions, seats) = read_sessions_and_seats(tx, &locked).await?;
                let context = TurnContext::read(tx, &locked, &seats).await?;
                let memories = TaskMemories::read(tx, locked.runs.values()).await?;
                let automations = locked.automations.values();
                let mut budgets = Budgets::read(tx, tenants, automations, &ids, now).await?;
                let need_precheck = runs_needing_precheck(tx, &locked, &prechecked).await?;
                // 3. Decide about each run. One log holds the events of all, because its end locks the sessions.
                let mut log = SessionLogWriter::default();
                let mut replies = HashMap::with_capacity(all.len());
                let mut ready = Vec::with_capacity(all.len());
                let mut begun = Vec::new();
                for id in ids {
                    let found = locked.runs.remove(&id).and_then(|run| {
                        let session = sessions.get(&run.session_id?)?.clone();
                        let seat = seats.get(&run.seat_id?)?.clone();
                        let owner = RunOwner::of(&run, &locked.automations);
                        let accounts = budgets.accounts(run.tenant_id, owner);
                        let is_supported = !unsupported_tenants.contains(&run.tenant_id)
                            && context.supports_run(&run, &seat, owner);
                        Some(StartCandidate {
                            memory: memories.key(&run),
                            files_on_one_server: seat.files_on_one_server,
                            shares_files_of_goal: seat.files_on_one_server && seat.is_of_goal,
                            goal_is_paused: seat.goal_is_paused && run.task.is_some(),
                            seat: memories.seat_of_turn(&run, seat),
                            run,
                            session,
                            secret: secrets.get(&id).copied(),
                            accounts,
                            directory_missing: without_directory.contains(&id),
                            is_supported,
                            has_message: context.has_message(id),
                        })
                    });
                    let Some(found) = found else { continue };
                    let run = &found.run;
                    if run.state.is_taken_by(worker) && found.is_supported {
                        begun.push(found);
                        continue;
                    }
                    // Fence: the run may have ended or been requeued since the claim. Without this check a late worker
                    // would start a second agent for it.
                    if !run.state.is_claimed_by(worker) {
                        continue;
                    }
                    let automation = run.automation_id;
                    let automation = automation.and_then(|id| locked.automations.get_mut(&id));
                    let reply = self
                        .resolve_unready(tx, &mut log, &found, automation, (instance, now))
                        .await?;
                    match reply {
                        Some(reply) => {
                            replies.insert(id, reply);
                        }
                        // The precheck may decline the turn, so that the turn does not count towards a budget yet.
                        None if need_precheck.contains(&id) => {
                            let owner = RunOwner::of(run, &locked.automations);
                            if let Some(job) = owner
                                .automation()
                                .and_then(|automation| build_precheck(self, &found, automation))
                            {
                                replies.insert(id, StartReply::RunPrecheck(Box::new(job)));
                            }
                        }
                        None => {
                            budgets.count_turn(run);
                            ready.push(found);
                        }
                    }
                }
                // 4. Write: begin the turns that can begin.
                let rows = (&context, &locked.automations);
                let mut started = self
                    .begin_ready_turns(tx, &mut log, ready, rows, (worker, instance), now)
                    .await?;
                started.extend(begin_again(self, tx, begun, rows, worker, now).await?);
                count_begun_turns(self, tx, &mut log, &started, now).await?;
                log.write(tx, now).await?;
                // 5. Reply.
                Ok(replies_in_order(all, replies, started))
            })
        })
        .await
        .inspect(|replies: &Vec<StartReply>| {
            for reply in replies {
                if let StartReply::Started(assignment) = reply {
                    self.remember_registered_instance(assignment.run.tenant_id, instance);
                }
            }
        })
    }

    /// Ends, defers or requeues a run whose turn cannot begin, and returns the reply to its worker. Returns `None` if
    /// the turn can begin.
    async fn resolve_unready(
        &self,
        tx: &mut Tx,
        log: &mut SessionLogWriter,
        candidate: &StartCandidate,
        automation: Option<&mut Automation>,
        (instance, now): (InstanceId, Timestamp),
    ) -> Result<Option<StartReply>, Error> {
        let StartCandidate {
            run, session, seat, ..
        } = candidate;
        let admission = session.status().admission();
        let deleted = automation
            .as_ref()
            .is_some_and(|automation| automation.state == AutomationState::Deleted);
        // 1. Cancel. This check is the first, so that a request to cancel ends the run even if its session is paused.
        // A session that was closed or an automation that was deleted after the claim cancels the run too.
        let cancel_reason = match end::cancel_reason(tx, run).await? {
            None if admission == Admission::Refuse => {
                Some(format!("the session is {}", session.status()))
            }
            None if deleted => Some("the automation was deleted".to_owned()),
            None if !candidate.has_message && admission == Admission::Start => {
                Some(NO_MESSAGE_LEFT.to_owned())
            }
            reason => reason,
        };
        if let Some(reason) = cancel_reason {
            let finished = TurnResult::with_outcome(Outcome::Cancelled(reason));
            let _ = end::end_run(self, tx, run, log, &finished, now).await?;
            return Ok(Some(StartReply::Cancelled));
        }
        // 2. Requeue a run that this server does not support.
        if !candidate.is_supported {
            // An edit after the claim made a document need a later format. Requeue the run for a server that supports
            // the format. This server does not claim the run again, because its claim omits such runs.
            requeue(tx, log, run).await?;
            return Ok(Some(StartReply::Deferred));
        }
        // 3. Defer the run of a session or of a goal that is paused or a draft.
        if admission == Admission::Wait || candidate.goal_is_paused {
            defer_run(tx, log, session.id, run.id, run.automation_id, now).await?;
            return Ok(Some(StartReply::Deferred));
        }
        // 4. Fail a run whose agent has its memory on another instance. Only the pinned instance has the session of the
        // agent's process on disk. On another instance the process would start without its memory.
        if seat.instance_id.is_some_and(|pinned| pinned != instance) {
            let failure = RunFailure {
                kind: FailureKind::InstanceGone,
                prompted: false,
                message: "the agent's memory is on another instance".into(),
            };
            let finished = TurnResult::with_outcome(Outcome::Failed(failure.clone()));
            let _ = end::end_run(self, tx, run, log, &finished, now).await?;
            return Ok(Some(StartReply::Refused(failure)));
        }
        // 5. Requeue a run whose goal has its files on another instance.
        if requeue_at_files(tx, log, candidate, instance).await? {
            return Ok(Some(StartReply::Deferred));
        }
        // 6. Requeue or fail a run whose directory is not on this server.
        if candidate.directory_missing || self.lacks_shared_directory(candidate) {
            let refused = refuse_without_directory(self, tx, log, candidate, (instance, now));
            if let Some(reply) = refused.await? {
                return Ok(Some(reply));
            }
        }
        // 7. Fail or defer a run whose budget is used up.
        let Some(reached) = candidate.accounts.limit_blocking_next_turn() else {
            return Ok(None);
        };
        let refused = refuse_over_budget(self, tx, log, run, (automation, &reached), now);
        refused.await.map(Some)
    }

    /// Registers an instance for tenants. One data folder serves all tenants, and a new tenant has no row for the instance
    /// yet.
    async fn share_instance(
        &self,
        tx: &mut Tx,
        tenants: BTreeSet<TenantId>,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let new_tenants = tenants
            .into_iter()
            .filter(|tenant| !self.is_instance_registered(*tenant, instance));
        let new_tenants = new_tenants.map(|tenant| params![tenant]).collect();
        tx.execute_rows(sql!("instances/share"), new_tenants, params![instance, now])
            .await?;
        Ok(())
    }

    /// Begins the turns that have passed all checks. Omits the runs that the worker has lost.
    async fn begin_ready_turns(
        &self,
        tx: &mut Tx,
        log: &mut SessionLogWriter,
        ready: Vec<StartCandidate>,
        (context, automations): (&TurnContext, &HashMap<AutomationId, Automation>),
        (worker, instance): (&WorkerId, InstanceId),
        now: Timestamp,
    ) -> Result<Vec<Assignment>, Error> {
        if ready.is_empty() {
            return Ok(Vec::new());
        }
        // 1. Render the prompts, the reports that precede them, and the instructions of new memories.
        let mut prompts = HashMap::with_capacity(ready.len());
        let mut begins = Vec::with_capacity(ready.len());
        for StartCandidate { run, secret, .. } in &ready {
            let prompt = context.render_prompt(run, RunOwner::of(run, automations))?;
            let secret = secret.map(|hash| hash.to_vec());
            begins.push(params![run.id, json!(prompt.prompt_ref), secret]);
            prompts.insert(run.id, prompt);
        }
        add_run_reports(tx, &ready, automations, &mut prompts).await?;
        open_memories(&ready, context, &mut prompts)?;
        // 2. Register the instance, because the rows of the run and the seat refer to it.
        let tenants = ready.iter().map(|turn| turn.run.tenant_id).collect();
        self.share_instance(tx, tenants, instance, now).await?;
        // 3. Mark the runs as running.
        let started = set_running(tx, begins, worker, instance, now).await?;

        // 4. Collect the rows of each turn that has begun.
        let (mut pins, mut memory_pins) = (Vec::with_capacity(ready.len()), Vec::new());
        let mut records = Vec::with_capacity(ready.len());
        let mut assignments = Vec::with_capacity(ready.len());
        let mut uses = Vec::with_capacity(ready.len());
        let mut carried = Vec::new();
        for turn in ready {
            let StartCandidate {
                mut run,
                session,
                mut seat,
                memory,
                ..
            } = turn;
            // Fence: `runs/begin` returned only the runs that are still `delivered` to this worker.
            let prompt = prompts.remove(&run.id);
            let Some(prompt) = prompt.filter(|_| started.contains(&run.id)) else {
                continue;
            };
            let owner = RunOwner::of(&run, automations);
            uses.push(TurnUsage::turn_started(&run));
            carried.extend(context.carried_by(&run));
            run.state = RunState::Running {
                worker_id: worker.clone(),
                started_at: now,
                cancel_requested_at: None,
            };
            run.prompt_ref = Some(prompt.prompt_ref.clone());
            memory_pins.extend(memory);
            if seat.instance_id.is_none() {
                let has_files = memory.is_none() || turn.files_on_one_server;
                pins.extend(has_files.then(|| params![seat.id]));
                seat.instance_id = Some(instance);
            }
            let report = prompt.run_report.as_ref();
            records.push(params! { "records/begin";
                run: run.id,
                tenant: run.tenant_id,
                prompt_ref: json!(prompt.prompt_ref),
                prompt: prompt.text.as_str(),
                variables: &prompt.variables,
                report_version: report.map(|report| report.version),
                report: report.and_then(|report| report.text.as_deref()),
                now: now,
            });
            let location = EntryLocation {
                tenant: run.tenant_id,
                session: session.id,
                run: Some(run.id),
                seat: Some(seat.id),
            };
            log.add_message(
                location,
                self.input_entry(&run, owner, &prompt, context, now),
            );
            let change = RunChange::Running {
                attempt: run.attempt,
                worker_id: worker.clone(),
            };
            log.add_run_change(session.id, run.id, change);

            let turn = StartCandidate {
                run,
                session,
                seat,
                ..turn
            };
            assignments.push(turn.assign(self, context, owner, prompt)?);
        }
        // 5. Write the rows.
        tx.execute_rows(sql!("seats/pin"), pins, params![instance, now])
            .await?;
        pin_memories(tx, memory_pins, instance, now).await?;
        tx.execute_rows(sql!("records/begin"), records, params![])
            .await?;
        record_carried(tx, carried.into_iter()).await?;
        usage::add_usage(tx, uses, now).await?;
        Ok(assignments)
    }

    /// Returns the row of the transcript that shows the input. If an earlier attempt has shown the input already, the
    /// row shows only the number of this attempt.
    fn input_entry(
        &self,
        run: &Run,
        owner: RunOwner<'_>,
        prompt: &RenderedPrompt,
        context: &TurnContext,
        now: Timestamp,
    ) -> Entry {
        let source = owner.automation_source();
        let metadata = transcript::metadata(source.as_ref(), run.id, Some(&prompt.prompt_ref));
        // The transcript has the messages already: each has a row of its own since its publication.
        if matches!(owner, RunOwner::SeatMessages) {
            let carried = context.messages(run.id).iter().map(|message| message.seq);
            let text = transcript::carried_messages_text(run.attempt, &carried.collect::<Vec<_>>());
            return self.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
        }
        if context.inputs_in_transcript.contains(&run.input_id) {
            let text = format!("Attempt {} begins.", run.attempt);
            return self.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
        }
        let payload = context.payloads.get(&run.input_id);
        let text = match (&source, payload) {
            (Some(source), Some(payload)) => {
                let name = &source.automation_name;
                match context.trigger_spec(run) {
                    Some(Spec::Manual {}) => {
                        transcript::trigger_file_text(name, &run.content, payload)
                    }
                    _ => transcript::webhook_text(name, &run.content, payload),
                }
            }
            (Some(source), None) if matches!(owner, RunOwner::Occurrence(_)) => {
                transcript::automation_text(&source.automation_name, &run.content)
            }
            _ => run.content.clone(),
        };
        self.new_entry(Role::User, EntryKind::Message, text, metadata, now)
    }
}

/// Returns the runs of those requests for which a flag is `true`.
fn runs_with(requests: &[StartRequest], flag: fn(&StartRequest) -> bool) -> HashSet<RunId> {
    let flagged = requests.iter().filter(|request| flag(request));
    flagged.map(|request| request.run).collect()
}

/// Returns the hashes of the secrets of runs.
fn secrets_of(requests: &[StartRequest]) -> HashMap<RunId, [u8; 32]> {
    let secrets = requests.iter();
    secrets
        .filter_map(|one| Some((one.run, one.secret?)))
        .collect()
}

/// Returns the replies to requests, in their order. The worker has lost each run that has no reply.
fn replies_in_order(
    all: &[StartRequest],
    mut replies: HashMap<RunId, StartReply>,
    started: Vec<Assignment>,
) -> Vec<StartReply> {
    for assignment in started {
        let id = assignment.run.id;
        replies.insert(id, StartReply::Started(Box::new(assignment)));
    }
    let replies = all.iter().map(|request| replies.remove(&request.run));
    replies
        .map(|reply| reply.unwrap_or(StartReply::Fenced))
        .collect()
}
