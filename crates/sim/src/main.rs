//! The `hotrow-sim` program: the benchmarks of `hotrow bench` on simulated machines, measured in the machines' time.
//!
//! `bench/sim.sh` builds it, with the flags that it needs, and runs it. docs/simulation.md says what the figures mean.

#[cfg(machine)]
mod command;
#[cfg(machine)]
mod machines;

#[cfg(machine)]
fn main() -> std::process::ExitCode {
    command::run()
}

#[cfg(not(machine))]
#[expect(clippy::print_stderr, reason = "the program has nothing else to do")]
fn main() -> std::process::ExitCode {
    eprintln!("hotrow-sim was built for the real machine; expected a build by bench/sim.sh");
    std::process::ExitCode::from(2)
}
