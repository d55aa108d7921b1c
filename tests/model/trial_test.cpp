// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// One TrialSpec for each kind of work that the model must represent: a settings sweep, in-process
// cells, a P2P matrix and a DDP step.
#include "model/document.h"
#include "model/trial.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe::model;

namespace {

Cell all_reduce_cell(std::uint64_t bytes) {
  Cell cell;
  cell.label.bytes = bytes;
  cell.schedule.streams = {{"communication"}};
  cell.schedule.communicators = {{"world"}};
  cell.schedule.buffers = {{"send", bytes}, {"receive", bytes}};
  cell.schedule.operations = {{CollectiveOp{Collective::all_reduce, 0, 0, {0}, {1}, bytes / 4}}};
  cell.schedule.timed = {0, 1};
  cell.schedule.fills = {{0, {0}, bytes / 4}};
  cell.schedule.checks = {{Collective::all_reduce, 0, {1}, bytes / 4}};
  return cell;
}

TrialSpec settings_sweep_trial() {
  TrialSpec trial;
  trial.id = 3;
  trial.name = "NCCL_PROTO=LL";
  trial.backend = "nvidia";
  trial.ranks = 8;
  trial.process.common = {{"NCCL_PROTO", "LL"}};
  for (int rank = 0; rank < 8; ++rank)
    trial.process.per_rank[rank] = {{"NCCL_HOSTID", rank < 4 ? "a" : "b"}};
  trial.libraries = {{"nccl", "/opt/nccl-2.18/libnccl.so.2"}};
  for (std::uint64_t bytes : {1024u, 1048576u})
    trial.cells.push_back(all_reduce_cell(bytes));
  return trial;
}

TrialSpec in_process_cells_trial() {
  TrialSpec trial;
  trial.name = "tuner cells";
  trial.ranks = 8;
  for (const char* algorithm : {"Ring", "Tree"})
    for (const char* channels : {"4", "16"}) {
      Cell cell = all_reduce_cell(1 << 20);
      cell.settings = {{"algorithm", algorithm}, {"protocol", "Simple"}, {"channels", channels}};
      trial.cells.push_back(cell);
    }
  return trial;
}

// All pairs, one direction: the bytes of the source's buffer go to the destination's.
TrialSpec p2p_matrix_trial(int devices) {
  TrialSpec trial;
  trial.name = "p2p";
  trial.ranks = devices;
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to) {
      Cell cell;
      cell.label = {P2pLabel{.transfers = {{{false, from}, {false, to}}}}, 1 << 28};
      cell.schedule.streams = {{"copy"}};
      PerRank<std::uint64_t> source(0), target(0); // only two ranks need memory
      source.exceptions[from] = 1 << 28;
      target.exceptions[to] = 1 << 28;
      cell.schedule.buffers = {{"source", source}, {"target", target}};
      cell.schedule.operations = {{CopyOp{0, from, {0}, to, {1}, 1 << 28}, {from}}};
      cell.schedule.timed = {0, 1};
      trial.cells.push_back(cell);
    }
  return trial;
}

// Two buckets: the first is reduced while the second's gradients are still computed.
// Tensor-parallel pairs use separate sub-communicators.
TrialSpec ddp_step_trial() {
  Cell cell;
  cell.label = {StepLabel{.model = "m", .ranks = {0, 1}}, 96 << 20};
  Schedule& step = cell.schedule;
  step.streams = {{"compute"}, {"communication", -1}};
  step.communicators = {{"data parallel"}, {"tensor parallel", {0, 1}}};
  step.buffers = {{"gradients", 96 << 20}, {"activations", 1 << 20}};
  Slice first{0}, second{0, 64 << 20}, activations{1};
  step.operations = {
      {SpinOp{0, 3'000'000}},
      {CollectiveOp{Collective::all_reduce, 1, 0, activations, activations, 1 << 19,
                    DataType::bf16},
       {0, 1}},
      {RecordEventOp{0, 0}},
      {WaitEventOp{1, 0}},
      {CollectiveOp{Collective::all_reduce, 0, 1, first, first, 16 << 20, DataType::f32,
                    ReduceOp::avg}},
      {MarkerOp{0, "bucket 1 ready"}},
      {SpinOp{0, 2'000'000}},
      {RecordEventOp{0, 1}},
      {WaitEventOp{1, 1}},
      {CollectiveOp{Collective::all_reduce, 0, 1, second, second, 8 << 20, DataType::f32,
                    ReduceOp::avg}},
      {ConvertOp{0, {0}, {1}, 1 << 18, DataType::f32, DataType::bf16}},
      {GemmOp{0, {0}, {1}, {0}, 64, 32, 16, 2, DataType::f16, GemmLayout::tn, GemmMath::full}},
      {OptimizerOp{0, {0}, {1}, {0}, 7, DataType::bf16}},
      {MarkerOp{0, "step end", Activity::optimizer, MarkerEdge::end}},
      {BarrierOp{0}},
  };
  step.timed = {0, 10};
  step.capture = Region{0, 10};
  TrialSpec trial;
  trial.name = "ddp";
  trial.ranks = 4;
  trial.cells = {cell};
  return trial;
}

} // namespace

TEST_CASE("copies, chases and their data are written and read back; plain ones stay as they were") {
  Schedule schedule;
  schedule.operations = {
      {CopyOp{0, 0, {0}, 1, {1}, 8, CopyMeans::through_host, CopyDriver::target}},
      {ChaseOp{1, 0, 1, {0}, 4096, 128, 100, {1}}}};
  schedule.buffers = {{"a", 8, Memory::shared}, {"b", 8, Memory::pageable_host}};
  schedule.fills = {{k_all_ranks, {0}, 1}};
  schedule.fills[0].ranks = {1};
  schedule.fills[0].signs = Signs::none;
  schedule.checks = {{Collective::broadcast, k_all_ranks, {1}, 1}};
  schedule.checks[0].ranks = {0, 1};
  CHECK(parse_json<Schedule>(write_json(schedule)).value() == schedule);

  schedule.operations = {{CopyOp{0, 0, {0}, 1, {1}, 8}}};
  schedule.fills[0].signs = Signs::both;
  std::string plain = write_json(schedule);
  CHECK(plain.find("signs") == std::string::npos);
  CHECK(plain.find("means") == std::string::npos);
  CHECK(plain.find("driver") == std::string::npos);
}

TEST_CASE("a trial of every kind survives JSON unchanged") {
  for (const TrialSpec& trial :
       {settings_sweep_trial(), in_process_cells_trial(), p2p_matrix_trial(3), ddp_step_trial()}) {
    auto read = parse_json<TrialSpec>(write_json(trial));

    INFO(trial.name);
    REQUIRE(read.has_value());
    CHECK(*read == trial);
  }
}

TEST_CASE("sends, receives and groups survive JSON unchanged") {
  Schedule ring;
  ring.streams = {{"s"}};
  ring.communicators = {{"world"}};
  PerRank<std::uint64_t> counts(16);
  counts.exceptions[2] = 48;
  ring.operations = {{GroupBeginOp{}},
                     {SendOp{0, 0, {0, 4, 8}, counts, DataType::u8, {Peer::Kind::relative, 1}}},
                     {RecvOp{0, 0, {1}, counts, DataType::u8, {Peer::Kind::absolute, 2}}, {1, 3}},
                     {GroupEndOp{}}};

  auto read = parse_json<Schedule>(write_json(ring));

  REQUIRE(read.has_value());
  CHECK(*read == ring);
}

TEST_CASE("what a type got later is written only when set, so that old keys stay") {
  TrialSpec trial = settings_sweep_trial();
  std::string plain = write_json(trial);
  std::string plain_key = resume_key(trial, trial.cells[0]);
  trial.purpose = Purpose::companion;
  trial.tested_libraries = {{"nccl", "/b/libnccl.so.2"}};
  trial.cpu_affinity = "0-3";
  Cell& cell = trial.cells[0];
  cell.label.what = CollectiveLabel{.launch = Launch::graph};
  cell.timing.mode = TimingMode::latency;
  cell.schedule.buffers[0].memory = Memory::registered;
  std::string grown = write_json(trial);

  for (const char* later :
       {"purpose", "launch", "mode", "memory", "tested_libraries", "cpu_affinity"}) {
    CHECK(plain.find(later) == std::string::npos);
    CHECK(grown.find(later) != std::string::npos);
  }
  CHECK(parse_json<TrialSpec>(grown).value() == trial);
  CHECK(resume_key(trial, cell) != plain_key);
  auto without_a_first_field = parse_json<TrialSpec>(R"({"id": 3})");
  CHECK_FALSE(without_a_first_field.has_value());
}

TEST_CASE("a choice of CPUs is under test, and another measurement") {
  TrialSpec trial = settings_sweep_trial();
  TrialSpec on_cpus = trial;
  on_cpus.cpu_affinity = "core";

  CHECK(on_cpus.under_test().front() == Setting{"cpu_affinity", "core"});
  CHECK(resume_key(on_cpus, trial.cells[0]) != resume_key(trial, trial.cells[0]));
  TrialSpec bare;
  bare.cpu_affinity = "core";
  CHECK(bare.label() == "cpu_affinity=core");
  CHECK_FALSE(bare.is_default());
}

TEST_CASE("broken JSON is an error that says what is wrong") {
  CHECK(parse_json<TrialSpec>("{").error().code == ncclprobe::base::Errc::protocol);
  std::string unknown = write_json(settings_sweep_trial());
  unknown.replace(unknown.find("out_of_place"), 12, "nowhere");
  auto read = parse_json<TrialSpec>(unknown);
  REQUIRE_FALSE(read.has_value());
  CHECK_THAT(read.error().message, ContainsSubstring("nowhere") && ContainsSubstring("in_place"));
}

TEST_CASE("a rank's settings are the common ones and its own") {
  TrialSpec trial = settings_sweep_trial();

  CHECK(label_of(trial.process.at(5)) == "NCCL_PROTO=LL NCCL_HOSTID=b");
  CHECK(label_of({}) == "default");
}

TEST_CASE("the resume key tells what was measured, not how long one waited for it") {
  TrialSpec trial = settings_sweep_trial();
  Cell cell = trial.cells[0];
  std::string key = resume_key(trial, cell);
  CHECK(key.size() == 16);

  SECTION("patience, place in the plan and seed do not matter") {
    cell.deadline_ns *= 2;
    trial.id = 9;
    trial.seed = 4;
    CHECK(resume_key(trial, cell) == key);
  }
  SECTION("settings, library, replicate, purpose, size and timing do") {
    TrialSpec other = trial;
    other.purpose = Purpose::companion;
    CHECK(resume_key(other, cell) != key);
    other = trial;
    other.process.common[0].value = "LL128";
    CHECK(resume_key(other, cell) != key);
    other = trial;
    other.process.per_rank.erase(0);
    CHECK(resume_key(other, cell) != key);
    other = trial;
    other.libraries.clear();
    CHECK(resume_key(other, cell) != key);
    other = trial;
    other.replicate = 1;
    CHECK(resume_key(other, cell) != key);
    CHECK(resume_key(trial, trial.cells[1]) != key);
    cell.timing.iterations = 21;
    CHECK(resume_key(trial, cell) != key);
  }
}

TEST_CASE("the gravest of several outcomes counts") {
  Outcome failed{OutcomeKind::failed, "no route", {2}};
  Outcome crashed{OutcomeKind::crashed, "signal 11", {1}};

  CHECK(worse({}, failed) == failed);
  CHECK(worse(failed, crashed) == crashed);
  CHECK(worse(crashed, failed) == crashed);
  CHECK(worse(crashed, {OutcomeKind::crashed, "signal 9", {0}}) ==
        Outcome{OutcomeKind::crashed, "signal 11", {0, 1}});
}

TEST_CASE("ranks are written as ranges") {
  CHECK(format_ranks({3, 0, 1, 2, 6}) == "0-3,6");
  CHECK(format_ranks({4, 5}) == "4,5");
  CHECK(format_ranks({}).empty());
}
