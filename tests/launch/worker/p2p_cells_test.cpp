// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The cells of P2P matrices as a worker runs them: on plain memory with real data, on the synthetic
// backend with exact times, on the CPU backend with real messages.
#include "backend/synthetic/synthetic_backend.h"
#include "launch/worker/local_run.h"
#include "launch/worker/memory_backend.h"
#include "support/catch.h"
#include "workload/p2p_benchmark.h"
#include "workload/p2p_plan.h"

#include <future>

using namespace ncclprobe;
using namespace ncclprobe::model;
using model::P2pDirection;
using model::P2pMethod;
using model::P2pMode;
using support::LocalRun;

namespace {

std::vector<Cell> cells_of(workload::P2pRequest request) {
  request.sizes = {64 * 1024};
  return workload::make_p2p_plan(request).value().trials.front().cells;
}

workload::P2pRequest direct(int ranks) {
  workload::P2pRequest request;
  request.backend = "nvidia";
  request.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  using enum P2pMethod;
  request.methods = {ce, ce_read, sm_write, sm_read, staged, host, pageable, latency};
  return request;
}

Cell cell_of(P2pMethod method, const std::vector<model::P2pTransfer>& transfers,
             P2pDirection direction = P2pDirection::uni) {
  return workload::make_p2p_cell({{P2pMode::direct, method, direction, transfers}, 64 * 1024, 2});
}

const model::P2pTransfer k_there{{false, 0}, {false, 1}};
const model::P2pTransfer k_back{{false, 1}, {false, 0}};

} // namespace

TEST_CASE("every cell of a matrix is carried out and its data checked") {
  LocalRun run(support::make_memory_backend(), 3);

  for (const Cell& cell : cells_of(direct(3))) {
    INFO(cell.label.workload() << " " << cell.label.variant());
    auto results = run.run(cell);

    auto label = cell.label.p2p();
    REQUIRE(label);
    std::uint64_t elements = 0;
    std::vector<bool> timed(3, cell.timing.mode == TimingMode::batch);
    for (const auto& transfer : label->transfers)
      timed[static_cast<std::size_t>(timed_rank(label->method, transfer))] = true;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(results[rank].outcome.ok());
      CHECK(results[rank].check.checked);
      CHECK(results[rank].samples.empty() != timed[rank]);
      elements += results[rank].check.elements;
    }
    CHECK(elements > 0);
  }
}

TEST_CASE("a byte that a copy gets wrong is wrong data, by every method") {
  support::MemoryFault fault;
  fault.damage = [](std::span<std::byte> written) {
    written[written.size() / 2] ^= std::byte{0x20};
  };
  using enum P2pMethod;
  for (P2pMethod method : {ce, ce_read, sm_write, sm_read, staged}) {
    INFO(to_string(method));
    auto results = LocalRun(support::make_memory_backend(fault), 2).run(cell_of(method, {k_there}));

    CHECK(results[0].outcome.ok());
    CHECK(results[1].outcome.kind == OutcomeKind::wrong_data);
    CHECK_THAT(results[1].check.first_wrong, ContainsSubstring("rank 1 element 4096"));
    CHECK_THAT(results[1].check.first_wrong, ContainsSubstring("batch 1"));
  }
}

TEST_CASE("a copy that does nothing is wrong data: what it writes to was poisoned") {
  support::MemoryFault fault;
  fault.copies_nothing = true;

  auto results = LocalRun(support::make_memory_backend(fault), 2)
                     .run(cell_of(P2pMethod::sm_write, {k_there, k_back}, P2pDirection::bi));

  CHECK(results[0].outcome.kind == OutcomeKind::wrong_data);
  CHECK(results[1].check.wrong == 64 * 1024 / 8);
}

TEST_CASE("a copy that writes a byte beyond or before its target is wrong data, by every method") {
  support::MemoryFault fault;
  using enum P2pMethod;
  for (bool beyond : {true, false}) {
    fault.damage = [beyond](std::span<std::byte> written) {
      *(beyond ? written.data() + written.size() : written.data() - 1) = std::byte{7};
    };
    for (P2pMethod method : {ce, ce_read, sm_write, sm_read, staged}) {
      INFO(to_string(method) << (beyond ? " beyond" : " before"));
      auto results =
          LocalRun(support::make_memory_backend(fault), 2).run(cell_of(method, {k_there}));

      CHECK(results[0].outcome.ok());
      CHECK(results[1].outcome.kind == OutcomeKind::wrong_data);
      CHECK_THAT(results[1].check.first_wrong,
                 ContainsSubstring("rank 1: 1 byte outside all results overwritten") &&
                     ContainsSubstring(beyond ? "at byte 65536 of buffer 'target'"
                                              : "at byte -1 of buffer 'target'"));
    }
  }
}

TEST_CASE("a pointer chase that ends in the wrong place is wrong data") {
  support::MemoryFault fault;
  fault.damage = [](std::span<std::byte> written) { written[1] ^= std::byte{1}; };

  auto results =
      LocalRun(support::make_memory_backend(fault), 2).run(cell_of(P2pMethod::latency, {k_there}));

  CHECK(results[0].outcome.kind == OutcomeKind::wrong_data);
  CHECK_THAT(results[0].check.first_wrong, ContainsSubstring("8192 hops through memory of rank 1"));
}

namespace {

// Two processes, as threads: one rank each.
std::vector<model::CellRecord> run_apart(const std::vector<Cell>& cells,
                                         const support::MemoryFault& fault = {}) {
  support::LocalRendezvous rendezvous;
  auto process = [&](int rank) {
    auto backend = support::make_memory_backend(fault);
    std::vector<worker::LocalRank> local_ranks;
    local_ranks.push_back({rank, backend->open_device(rank)});
    worker::ProgressBoard board;
    worker::TraceRecorder trace;
    worker::ScheduleRunner runner(*backend, std::move(local_ranks), 2, 1, rendezvous, board, trace);
    std::vector<model::CellRecord> results;
    for (const Cell& cell : cells)
      results.push_back(runner.run(cell).front());
    // As at the end of a trial: nobody frees memory that another may still have mapped.
    rendezvous.exchange("end", {0, 1}, {{rank, ""}});
    return results;
  };
  auto other = std::async(std::launch::async, process, 1);
  std::vector<model::CellRecord> all = process(0);
  for (model::CellRecord& one : other.get())
    all.push_back(std::move(one));
  return all;
}

workload::P2pRequest between_processes() {
  workload::P2pRequest request = direct(2);
  request.mode = P2pMode::ipc;
  return request;
}

} // namespace

TEST_CASE("ranks of two processes reach each other's shared memory, which is mapped once") {
  auto cells = cells_of(between_processes());
  support::count_mapped();

  auto results = run_apart(cells);

  REQUIRE(results.size() == 2 * cells.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    INFO(cells[i % cells.size()].label.workload()
         << " " << cells[i % cells.size()].label.variant());
    CHECK(results[i].outcome.ok());
    CHECK(results[i].check.checked);
  }
  CHECK(support::count_mapped() == 4); // two buffers of each process
}

TEST_CASE("memory that cannot be shared makes cells between processes skipped, with the reason") {
  auto cells = cells_of(between_processes());
  support::MemoryFault fault;
  fault.shares_nothing = true;

  auto results = run_apart({cells.front()}, fault);

  CHECK(results[0].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(results[0].outcome.reason, ContainsSubstring("planted: nothing is shared"));
  CHECK(results[1].outcome.kind == OutcomeKind::skipped);
}

TEST_CASE("a copy to another process without shared memory is skipped by both") {
  auto results = run_apart({cell_of(P2pMethod::ce, {k_there})});

  CHECK_THAT(results[0].outcome.reason, ContainsSubstring("is not shared"));
  CHECK(results[1].outcome.kind == OutcomeKind::skipped);
}

TEST_CASE("the synthetic backend's times are exact") {
  LocalRun run(backend::make_synthetic_backend(support::options_for(2)), 2);
  auto sample = [&](const Cell& cell) { return run.run(cell)[0].samples.at(0); };

  Sample copy = sample(cell_of(P2pMethod::ce, {k_there}));
  // launch + alpha + bytes at 100 GB/s
  CHECK(copy.elapsed_ns == copy.iterations * (2000 + 5000 + 64 * 1024 / 100));

  Sample chase = sample(cell_of(P2pMethod::latency, {k_there}));
  CHECK(chase.elapsed_ns == 2000 + 8192 * 1000);
}

TEST_CASE("messages between CPU ranks fill the same matrices") {
  workload::P2pRequest request;
  request.backend = "host";
  request.host_of_rank = {0, 0, 0};
  LocalRun run(3);

  for (Cell& cell : cells_of(request)) {
    INFO(cell.label.workload() << " " << cell.label.variant());
    cell.timing.iterations = 2;
    auto results = run.run(cell);

    std::uint64_t elements = 0;
    for (const auto& result : results) {
      CHECK(result.outcome.ok());
      elements += result.check.elements;
    }
    CHECK(elements > 0);
  }
}
