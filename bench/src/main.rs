//! Benchmarks of Taximeter, alone and against other systems. They report; what is slow is marked, not an error.
//!
//! Run them optimised: `cargo run --release -p taximeter-bench -- accounting`.

#![forbid(unsafe_code)]

mod accounting;
mod coverage;
mod dashboard;
mod figure;
mod gate;
mod lab;
mod ledger;
mod memory;
mod noise;
mod opendp_filter;
mod server;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// How fast Taximeter is, beside what is wanted of it and beside other systems.
#[derive(Parser)]
#[command(name = "taximeter-bench", version, max_term_width = 110)]
struct Program {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// What a charge, a reading and a verdict take, and OpenDP's filter on the same costs
    Accounting(accounting::Accounting),
    /// What the lab's exact engine takes, against a plain recursion and as the budget grows
    Lab(lab::Lab),
    /// What durable charges take, against a bare loop that writes the same bytes
    Ledger(ledger::LedgerBench),
    /// What questions and imports take, against the bare engine
    Gate(gate::GateBench),
    /// How often the 95 % intervals of every form of question hold, on fresh ledgers
    Coverage(coverage::Coverage),
    /// What one draw of noise takes, at scales from 1 to 2^40, and OpenDP's samplers
    Noise(noise::NoiseBench),
    /// What charges over HTTP take, against the ledger in the process; and what a killed server loses
    Server(server::ServerBench),
    /// How soon a browser shows an account with 100,000 charges, against one with 100
    Dashboard(dashboard::DashboardBench),
    /// The server that the benchmark starts
    #[command(hide = true)]
    Serve(server::Serve),
}

fn main() -> ExitCode {
    let result = match Program::parse().benchmark {
        Benchmark::Accounting(accounting) => accounting.run(),
        Benchmark::Lab(lab) => lab.run(),
        Benchmark::Ledger(ledger) => ledger.run(),
        Benchmark::Gate(gate) => gate.run(),
        Benchmark::Coverage(coverage) => coverage.run(),
        Benchmark::Noise(noise) => noise.run(),
        Benchmark::Server(server) => server.run(),
        Benchmark::Dashboard(dashboard) => dashboard.run(),
        Benchmark::Serve(serve) => serve.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
