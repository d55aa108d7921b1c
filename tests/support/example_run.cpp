// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/example_run.h"

namespace ncclprobe::support {
namespace {

using namespace model;

constexpr int k_ranks = 8;

CudaDevice example_gpu(int index) {
  CudaDevice gpu;
  gpu.index = index;
  gpu.name = "Example GPU 80GB";
  gpu.uuid = fmt::format("GPU-0000000{}", index);
  gpu.pci_bus_id = fmt::format("00000000:{:02X}:00.0", 16 + index);
  gpu.compute_capability = "9.0";
  gpu.memory_bytes = 85'899'345'920;
  gpu.free_bytes = 85'000'000'000;
  gpu.multiprocessors = 132;
  if (index % 2 == 0)
    gpu.nvlinks = 18;
  gpu.compute_mode = "default";
  return gpu;
}

HostInventory example_host(int number) {
  HostInventory host;
  host.hostname = fmt::format("knoten-{}-\u00fc", number);
  host.boot_id = fmt::format("5f0c7b6e-0000-4000-8000-00000000000{}", number);
  host.cpu_model = "Example CPU";
  host.cpus_allowed = 96;
  host.memory_bytes = 2'199'023'255'552;
  host.kernel = "6.1.0-18-amd64";
  for (int index = 0; index < k_ranks / 2; ++index)
    host.gpus.push_back(example_gpu(index));
  host.libraries = {{"nccl", "2.28.3", "/opt/\xff/libnccl.so.2", ""},
                    {"cupti", "", "", "libcupti.so.12: cannot open shared object file"}};
  host.worker_version = "ncclprobe 0.1.0 (nvidia, host)";
  if (number == 1)
    host.nvidia_problem = "the driver is older than the runtime";
  return host;
}

Schedule all_reduce_schedule(std::uint64_t bytes) {
  Schedule schedule;
  std::uint64_t count = bytes / 4;
  schedule.streams = {{"main", -1}};
  schedule.communicators = {{"world", {}}, {"evens", {0, 2, 4, 6}}};
  PerRank<std::uint64_t> size(bytes);
  size.exceptions[3] = 0;
  schedule.buffers = {{"send", bytes}, {"receive", size}};
  CollectiveOp op;
  op.receive = {1, 0, 16};
  op.count = count;
  SendOp send{0, 0, {0, 0, 0}, count, DataType::f32, {Peer::Kind::relative, 1}};
  schedule.operations = {{GroupBeginOp{}, {}},
                         {op, {}},
                         {send, {0, 1}},
                         {GroupEndOp{}, {}},
                         {RecordEventOp{0, 1}, {}},
                         {MarkerOp{0, "bucket \u2116 1"}, {}}};
  schedule.timed = {0, 4};
  schedule.capture = Region{1, 3};
  schedule.fills = {{0, {0, 0, 0}, count, DataType::f32, ReduceOp::sum, Collective::all_reduce}};
  schedule.checks = {
      {Collective::all_reduce, 0, {1, 0, 0}, count, DataType::f32, ReduceOp::sum, 0}};
  return schedule;
}

Cell example_cell(int index) {
  Cell cell;
  if (index == 3)
    cell.label.what = P2pLabel{.transfers = {{{true, 0}, {false, 1}}, {{false, 1}, {true, 0}}}};
  if (index == 2)
    cell.label.what =
        StepLabel{.options = {.bucket_bytes = 1 << 20}, .model = "m", .ranks = {0, 2}};
  if (index == 1)
    cell.label.what = CollectiveLabel{.memory = Memory::registered, .split = 2};
  cell.label.bytes = 1024ULL << (4 * index);
  cell.label.type = index % 2 ? DataType::bf16 : DataType::f32;
  cell.label.op = index % 2 ? ReduceOp::avg : ReduceOp::sum;
  cell.label.placement = index == 2 ? Placement::in_place : Placement::out_of_place;
  cell.label.root = index;
  if (index == 1)
    cell.settings = {{"algorithm", "ring"}, {"channels", ""}};
  cell.schedule = all_reduce_schedule(cell.label.bytes);
  cell.timing.budget_ns = 1'000'000'000LL * index;
  if (index == 2) {
    cell.timing.mode = TimingMode::steps;
    cell.schedule.operations.push_back({MarkerOp{0, "step", Activity::note, MarkerEdge::point}});
    cell.schedule.operations.push_back(
        {MarkerOp{0, "bucket 0", Activity::communication, MarkerEdge::begin}});
  }
  if (index == 1) {
    cell.timing.mode = TimingMode::latency;
    cell.timing.target_interval = 0.01;
    cell.schedule.buffers[1].memory = Memory::registered;
    cell.schedule.communicators.push_back({"half", {0, 1}, 0});
  }
  return cell;
}

CellRecord finished_cell(int index, int trial) {
  CellRecord record;
  record.check = {true, 1024, 0, "", "", 3, "last launch of every batch"};
  using When = Condition::When;
  if (index == 0)
    record.conditions = {{.sm_clock_mhz = 1980,
                          .memory_clock_mhz = 2619,
                          .temperature_c = 35,
                          .power_mw = 120'500,
                          .energy_mj = 7'000'000'000,
                          .throttle_reasons = 0,
                          .memory_used_bytes = 1ULL << 37,
                          .processes = 2,
                          .corrected_errors = 12,
                          .uncorrected_errors = 0},
                         {.when = When::during,
                          .at_ns = 17,
                          .sm_clock_mhz = 1755,
                          .memory_clock_mhz = 2619,
                          .temperature_c = -5,
                          .power_mw = 699'000,
                          .energy_mj = 7'000'011'883,
                          .throttle_reasons = 0x4 | 0x20,
                          .memory_used_bytes = 1ULL << 36,
                          .nvlink_sent_bytes = 1ULL << 50,
                          .nvlink_received_bytes = 3,
                          .pcie_sent_mb_per_s = 120,
                          .pcie_received_mb_per_s = 0},
                         {.rank = 7, .when = When::after, .at_ns = 99}};
  if (index == 2)
    for (int rank = 0; rank < k_ranks; ++rank)
      for (int step = 0; step < 20; ++step)
        for (int marker : {6, 7})
          record.marks.push_back({rank, 0, step, marker, 1'000LL * step - 500 + marker * rank});
  for (int batch = 0; batch < 3; ++batch)
    for (int rank = 0; rank < k_ranks; ++rank)
      record.samples.push_back({rank, batch, 20,
                                1'000'000LL * (index + 1) + 1'000LL * rank + 10LL * batch + trial,
                                index == 3 ? -1 : 40'000LL + 7LL * rank});
  return record;
}

WorkerRecord finished_worker(int rank) {
  WorkerRecord worker;
  worker.ranks = {rank, rank + 4};
  worker.host = "knoten-0-\u00fc";
  worker.pid = 4000 + rank;
  worker.last_phase = "done";
  worker.last_cell = 3;
  worker.exit = "exit 0";
  worker.cpus = "0-15,32-47";
  worker.cpus_asked = "0-15,32-48";
  if (rank > 1)
    worker.memory = {{rank, MemoryUse::What::before, 0},
                     {rank, MemoryUse::What::finished, 1ULL << 37},
                     {rank, MemoryUse::What::buffers, 3}};
  if (rank > 0) // the first did not report it
    worker.libraries = {{"nccl", "2.28.9", "/opt/nccl/libnccl.so.2.28.9", ""},
                        {"cublaslt", "13.1.0", "/opt/libcublasLt.so.13", "not mapped"}};
  return worker;
}

void fail_trial(TrialRecord& trial, int first_bad, Outcome outcome) {
  trial.outcome = outcome;
  for (int index = first_bad; index < static_cast<int>(trial.cells.size()); ++index) {
    trial.cells[static_cast<std::size_t>(index)] = {};
    trial.cells[static_cast<std::size_t>(index)].outcome =
        index == first_bad ? outcome
                           : Outcome{OutcomeKind::not_run, "an earlier cell ended the trial", {}};
    trial.cells[static_cast<std::size_t>(index)].check.why_unchecked = "it did not run";
  }
}

} // namespace

RunHeader example_header(int trials) {
  RunHeader header;
  header.run_id = "0b5e3c1e-7f3a-4f0e-9d52-3f6f0c1f2a10";
  header.started_utc = "2026-03-01T12:34:56Z";
  header.ncclprobe_version = "0.1.0";
  header.mpi_version = "Open MPI v4.1.4";
  header.argv = {"ncclprobe", "--set", "NCCL_ALGO=Ring,Tree", "", "--output", "l\u00e4ufe/run.h5"};
  header.seed = 0xFFFF'FFFF'FFFF'FFFF;
  header.backend = "synthetic";
  header.backend_reason = "asked for";
  header.synthetic = true;
  header.hosts = {example_host(0), example_host(1)};
  for (int rank = 0; rank < k_ranks; ++rank)
    header.ranks.push_back({rank, rank / 4, rank % 4});
  header.environment = {{"NCCL_DEBUG", "WARN"}, {"PATH", "/bin:\xfe\xff"}, {"EMPTY", ""}};
  header.pinned = {{"NCCL_DEBUG", "WARN"}};
  header.environment_of_ranks = {{{4, 6}, "NCCL_DEBUG", std::nullopt}, {{5}, "EMPTY", "full"}};
  header.planned_trials = trials;
  return header;
}

TrialRecord example_trial(int id) {
  TrialRecord trial;
  TrialSpec& spec = trial.spec;
  spec.id = id;
  spec.replicate = id / 5;
  spec.backend = "synthetic";
  spec.ranks = k_ranks;
  spec.seed = 1'000 + static_cast<std::uint64_t>(id);
  if (id % 5 != 0)
    spec.process.common = {{"NCCL_ALGO", id % 2 ? "Ring" : "Tree"}, {"NCCL_PROTO", ""}};
  spec.name = label_of(spec.process.common);
  if (id % 5 == 2)
    spec.process.per_rank = {{0, {{"NCCL_HOSTID", "a"}}}, {7, {{"NCCL_HOSTID", "b"}}}};
  if (id % 5 == 1)
    spec.libraries = {{"nccl", "/opt/\xff/libnccl.so.2"}};
  trial.started_utc = "2026-03-01T12:35:00Z";
  trial.startup_ns = 3'100'000'000 + id;
  trial.total_ns = 9'000'000'000 + id;
  trial.prepared = id > 0;
  for (int index = 0; index < 4; ++index) {
    spec.cells.push_back(example_cell(index));
    trial.cells.push_back(finished_cell(index, id));
  }
  for (int rank = 0; rank < 4; ++rank)
    trial.workers.push_back(finished_worker(rank));
  switch (id % 5) {
  case 2:
    fail_trial(trial, 0, {OutcomeKind::failed, "ncclCommInitRank: unhandled system error", {5, 3}});
    trial.workers[3].exit = "exit 1";
    trial.workers[3].last_phase = "communicator_init";
    trial.workers[3].last_cell = -1;
    // cut in the middle of a character, with a zero byte: as captured
    trial.workers[3].output_tail =
        std::string("NCCL WARN nosuch0\n\xe2\x82", 20) + '\0' + "\xc3(tail)\n";
    break;
  case 3:
    fail_trial(
        trial, 2,
        {OutcomeKind::timed_out, "all_reduce 256K: no result from 1 of 8 ranks after 30 s", {6}});
    trial.workers[2].exit = "signal 9 (Killed)";
    trial.workers[2].position = "launch 12 of 20 of batch 3";
    trial.workers[2].stack = "cudaStreamSynchronize\nmain";
    break;
  case 4:
    fail_trial(trial, 0, {OutcomeKind::skipped, "NCCL 2.18 has no ncclAlltoAll", {}});
    trial.workers.clear();
    break;
  case 1:
    spec.purpose = Purpose::companion;
    for (CellRecord& cell : trial.cells)
      cell.samples.clear();
    trial.evidence = {
        {0,
         "NCCL INFO Bootstrap\n\xff\n",
         "v5",
         {{-1, "AllGather", "ncclInt8", 1, "RING", "LL", 2, -1},
          {2, "Send", "ncclFloat32", 1'000'000'007, "", "SIMPLE", 4, 3}}},
        {3, "", "no profiler: the library has none", {}},
        {7, "NCCL INFO", "v5", {{0, "AllReduce", "ncclFloat32", 9, "TREE", "LL128", 24, -1}}}};
    break;
  default:
    break;
  }
  return trial;
}

Run example_run(int trials) {
  Run run;
  run.header = example_header(trials);
  for (int id = 0; id < trials; ++id)
    run.trials.push_back(example_trial(id));
  return run;
}

} // namespace ncclprobe::support
