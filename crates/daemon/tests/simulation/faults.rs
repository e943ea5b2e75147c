//! Faults of processes, machines and clocks.

use model::outcome::FailureKind;

use crate::{
    loops::finished_with_failure,
    simulated_server::{SimulatedServer, TurnStage},
    time::{HOUR, MACHINE_COUNT, MINUTE, SECOND},
    world::World,
};

impl World {
    /// Injects a fault, or repairs one.
    pub(crate) async fn inject_fault(&mut self) -> anyhow::Result<()> {
        match self.rng.below(100) {
            0..25 => self.start_random_server(),
            25..45 => self.kill_random_server(),
            45..55 => return self.stop_random_server().await,
            55..80 => self.freeze_random_server(),
            80..85 => self.kill_all_servers(),
            85..92 => self.set_clocks(),
            _ => self.suspend_machines(),
        }
        Ok(())
    }

    fn random_server(&mut self) -> Option<usize> {
        let servers: Vec<usize> = (0..self.servers.len()).collect();
        self.rng.pick(&servers)
    }

    fn start_random_server(&mut self) {
        let machine = usize::from(self.rng.one_in(2));
        self.start_server(machine);
    }

    /// Kills a server process. Its guards kill the agents.
    fn kill_random_server(&mut self) {
        if let Some(index) = self.random_server() {
            let killed = self.servers.remove(index);
            self.trace_event(|| format!("{} is killed", killed.host.worker));
            self.end_turns_of(&killed);
        }
    }

    fn end_turns_of(&mut self, server: &SimulatedServer) {
        for turn in &server.turns {
            self.agents.end_turn(turn.run);
        }
    }

    /// Cuts the power of all servers. Only the database remains.
    fn kill_all_servers(&mut self) {
        self.trace_event(|| "everything is killed".into());
        for server in std::mem::take(&mut self.servers) {
            self.end_turns_of(&server);
        }
    }

    /// Stops a server gracefully, so that it requeues its turns.
    async fn stop_random_server(&mut self) -> anyhow::Result<()> {
        let Some(index) = self.random_server() else {
            return Ok(());
        };
        self.trace_event(|| "a server is stopped".into());
        while let Some(turn) = self.servers[index].turns.last() {
            let last = self.servers[index].turns.len() - 1;
            match turn.stage {
                TurnStage::Running => {
                    let (run, worker) = (turn.run, self.servers[index].host.worker.clone());
                    self.agents.end_turn(run);
                    let prompted = self.rng.one_in(2);
                    let finished = finished_with_failure(FailureKind::Requeued, prompted);
                    self.finish_turn(index, last, &worker, &finished).await?;
                    self.servers[index].turns.truncate(last);
                }
                // The server is killed before it can requeue this turn.
                TurnStage::Claimed | TurnStage::Lost => {
                    self.servers[index].turns.pop();
                }
            }
        }
        self.servers.remove(index);
        self.wake_servers();
        Ok(())
    }

    /// Freezes a process for a while. Afterwards it continues as if no time had passed. Its guards and agents are not
    /// frozen.
    fn freeze_random_server(&mut self) {
        let for_ = match self.rng.below(3) {
            0 => self.rng.below(30 * SECOND),
            1 => self.rng.between(MINUTE, 4 * MINUTE),
            _ => self.rng.between(3 * MINUTE, 2 * HOUR),
        };
        if let Some(index) = self.random_server() {
            let until = self.time.now + for_;
            let server = &mut self.servers[index];
            server.frozen_until = until;
            let worker = server.host.worker.clone();
            self.trace_event(|| format!("{worker} is frozen for {} s", for_ / SECOND));
        }
    }

    /// Sets all clocks forward or back.
    fn set_clocks(&mut self) {
        let by = match self.rng.below(4) {
            0 => -self.rng.below(3 * HOUR),
            1 => -self.rng.below(MINUTE),
            2 => self.rng.below(3 * HOUR),
            _ => self.rng.below(3 * 24 * HOUR),
        };
        self.schedules.was_clock_set_back |= by < 0;
        self.time.shift_clocks(by);
        self.trace_event(|| format!("clocks are set by {} s", by / SECOND));
    }

    /// Suspends one machine or both. Time passes, and the processes do not notice.
    fn suspend_machines(&mut self) {
        let for_ = self.rng.choose([MINUTE, HOUR, 8 * HOUR]);
        let machine = usize::from(self.rng.one_in(2));
        let both = self.rng.one_in(2);
        self.trace_event(|| format!("machine {machine} sleeps {} s, both: {both}", for_ / SECOND));
        let until = self.time.now + for_;
        for other in (0..MACHINE_COUNT).filter(|other| both || *other == machine) {
            if self.time.is_suspended(other) {
                continue;
            }
            let there = self.servers.iter_mut();
            for server in there.filter(|server| server.machine == other) {
                server.suspend(for_, until);
            }
            self.time.suspend(other, for_);
        }
    }
}
