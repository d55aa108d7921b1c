// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

Command parse(std::vector<std::string> words) {
  words.insert(words.begin(), "ncclprobe");
  return parse_command_line(words);
}

RunOptions run_options(std::vector<std::string> words) {
  Command command = parse(std::move(words));
  REQUIRE(std::holds_alternative<RunCommand>(command));
  return std::get<RunCommand>(command).options;
}

int exit_code(std::vector<std::string> words) {
  Command command = parse(std::move(words));
  REQUIRE(std::holds_alternative<Leave>(command));
  return std::get<Leave>(command).exit_code;
}

} // namespace

TEST_CASE("`run` may be left out, and nothing said means nothing set") {
  RunOptions none = run_options({});
  CHECK_FALSE(none.sizes.has_value());
  CHECK_FALSE(none.backend.has_value());
  CHECK(none.axes.empty());
  CHECK(run_options({"--ranks", "4"}).ranks == 4);
  CHECK(run_options({"run", "--ranks", "4"}).ranks == 4);
}

TEST_CASE("no option takes an empty value") {
  for (const char* option : {"-o", "--output", "--resume", "--plan", "--sizes", "--model",
                             "--library", "--set", "--override"})
    CHECK(exit_code({option, ""}) == base::k_exit_usage);
  CHECK(exit_code({"topo", "--record", ""}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--log", ""}) == base::k_exit_usage);
  CHECK(exit_code({"models", ""}) == base::k_exit_usage);
}

TEST_CASE("a resumed run takes only what may name again what it loads") {
  for (const char* option : {"--library=nccl=/x", "--compare-library=nccl=/x,/y", "--set=A=b",
                             "--rank-set=0:A=b", "--model=net.json"})
    CHECK(run_options({"--resume", "run.h5", option}).resume_file == "run.h5");
  for (const char* option : {"--sizes=1K", "--plan=p.toml", "--backend=host", "--ranks=2"})
    CHECK(exit_code({"--resume", "run.h5", option}) == base::k_exit_usage);
}

TEST_CASE("what is measured and how is read") {
  RunOptions options = run_options({"-c",
                                    "all_reduce,broadcast",
                                    "-s",
                                    "1K:4K",
                                    "--types",
                                    "f16,bf16",
                                    "--ops",
                                    "max",
                                    "--placement",
                                    "in_place,out_of_place",
                                    "--root",
                                    "1",
                                    "-w",
                                    "1",
                                    "-n",
                                    "3",
                                    "--batches",
                                    "2",
                                    "--mode",
                                    "latency",
                                    "--interval",
                                    "0.5%",
                                    "--max-batches",
                                    "50",
                                    "--budget",
                                    "250ms",
                                    "--cell-timeout",
                                    "5s",
                                    "--repeat",
                                    "4",
                                    "--seed",
                                    "9",
                                    "-o",
                                    "x.h5"});

  CHECK(options.collectives ==
        std::vector{model::Collective::all_reduce, model::Collective::broadcast});
  CHECK(options.sizes == std::vector<std::uint64_t>{1024, 2048, 4096});
  CHECK(options.types == std::vector{model::DataType::f16, model::DataType::bf16});
  CHECK(options.ops == std::vector{model::ReduceOp::max});
  CHECK(options.placements->size() == 2);
  CHECK(options.roots == std::vector{1});
  CHECK(options.warmups == 1);
  CHECK(options.iterations == 3);
  CHECK(options.batches == 2);
  CHECK(options.mode == model::TimingMode::latency);
  CHECK(options.target_interval == 0.005);
  CHECK(options.max_batches == 50);
  CHECK(options.budget_ns == 250'000'000);
  CHECK(options.cell_deadline_ns == 5'000'000'000);
  CHECK(options.repeats == 4);
  CHECK(options.seed == 9);
  CHECK(options.output == "x.h5");
}

TEST_CASE("a share is a percentage or a fraction, and less than all") {
  CHECK(parse_share("1%").value() == 0.01);
  CHECK(parse_share("0.01").value() == 0.01);
  for (const char* text : {"", "%", "0", "-1%", "100%", "1", "1%%", "1 %", "nan", "many"}) {
    INFO(text);
    CHECK_FALSE(parse_share(text).has_value());
  }
}

TEST_CASE("variants of a measurement are read: counts, roots, offsets, splits, streams, graph") {
  RunOptions options = run_options({"--counts",
                                    "0,1,3,1023,3",
                                    "--roots",
                                    "0,3",
                                    "--offset",
                                    "0,4",
                                    "--split",
                                    "1,2",
                                    "--streams",
                                    "2",
                                    "--graph",
                                    "--register",
                                    "--launch-costs",
                                    "--comm-priority",
                                    "0,5",
                                    "--types",
                                    "u64,f8e4m3",
                                    "--ops",
                                    "prod,premul_sum",
                                    "-c",
                                    "all_to_all_v,hypercube"});

  CHECK(options.counts == std::vector<std::uint64_t>{0, 1, 3, 1023});
  CHECK(options.roots == std::vector{0, 3});
  CHECK(options.offsets == std::vector<std::uint64_t>{0, 4});
  CHECK(options.splits == std::vector{1, 2});
  CHECK(options.streams == std::vector{2});
  CHECK(options.graph);
  CHECK(options.launch_costs);
  CHECK(options.workload.priorities == std::vector<int>{0, 5});
  CHECK_FALSE(options.launches.has_value());
  CHECK(options.registered);
  CHECK(options.types == std::vector{model::DataType::u64, model::DataType::f8e4m3});
  CHECK(options.ops == std::vector{model::ReduceOp::prod, model::ReduceOp::premul_sum});
  CHECK(options.collectives ==
        std::vector{model::Collective::all_to_all_v, model::Collective::hypercube});
}

TEST_CASE("several --set make axes in their order, [a,b] is one value") {
  RunOptions options = run_options({"--set", "NCCL_ALGO=Ring,[Ring,Tree]", "--set", "NCCL_PROTO=LL",
                                    "--override", "NCCL_PROTO"});

  REQUIRE(options.axes.size() == 2);
  CHECK(options.axes[0].values == std::vector<std::string>{"Ring", "Ring,Tree"});
  CHECK(options.axes[1].name == "NCCL_PROTO");
  CHECK(options.overrides == std::vector<std::string>{"NCCL_PROTO"});
}

TEST_CASE("settings of single ranks and libraries are read") {
  RunOptions options = run_options({"--rank-set", "0-1:NCCL_HOSTID=a", "--rank-set",
                                    "2:NCCL_HOSTID=b", "--library", "nccl=/opt/libnccl.so.2"});

  CHECK(options.per_rank[1] == std::vector<model::Setting>{{"NCCL_HOSTID", "a"}});
  CHECK(options.per_rank[2] == std::vector<model::Setting>{{"NCCL_HOSTID", "b"}});
  CHECK(options.libraries == std::vector<model::Setting>{{"nccl", "/opt/libnccl.so.2"}});
}

TEST_CASE("mistakes leave with the usage code") {
  CHECK(exit_code({"--sizes", "64Q"}) == base::k_exit_usage);
  CHECK(exit_code({"--collectives", "allreduce"}) == base::k_exit_usage);
  CHECK(exit_code({"--ranks", "0"}) == base::k_exit_usage);
  CHECK(exit_code({"--counts", "1K"}) == base::k_exit_usage);
  CHECK(exit_code({"--counts", "1,,2"}) == base::k_exit_usage);
  CHECK(exit_code({"--roots", "-1"}) == base::k_exit_usage);
  CHECK(exit_code({"--split", "0"}) == base::k_exit_usage);
  CHECK(exit_code({"--streams", "2000000"}) == base::k_exit_usage);
  CHECK(exit_code({"--set", "NCCL_ALGO"}) == base::k_exit_usage);
  CHECK(exit_code({"--rank-set", "3-1:A=b"}) == base::k_exit_usage);
  CHECK(exit_code({"--no-such-option"}) == base::k_exit_usage);
  CHECK(exit_code({"run", "extra"}) == base::k_exit_usage);
  CHECK(exit_code({"--backend", "rocm"}) == base::k_exit_usage);
  CHECK(exit_code({"--library", "foo=/lib/foo.so"}) == base::k_exit_usage);
  CHECK(exit_code({"--no-sweep", "--set", "NCCL_ALGO=Ring"}) == base::k_exit_usage);
  CHECK(exit_code({"--seed", "18446744073709551615"}) == base::k_exit_usage);
}

TEST_CASE("every command that writes what the user names takes --force") {
  CHECK(run_options({"--force"}).force);
  CHECK(std::get<P2pCommand>(parse({"p2p", "--force"})).options.force);
  const auto yes = base::Overwrite::yes;
  CHECK(std::get<DoctorCommand>(parse({"doctor", "--force"})).options.output.overwrite == yes);
  CHECK(std::get<TopoCommand>(parse({"topo", "--force"})).options.output.overwrite == yes);
  CHECK(std::get<ModelsCommand>(parse({"models", "--force"})).options.output.overwrite == yes);
  CHECK_FALSE(run_options({}).force);
}

TEST_CASE("what --resume goes on with is taken from the file, and nothing else") {
  auto command = parse({"--resume", "run.h5", "--retry-failed", "--force", "--quiet"});
  const RunOptions& options = std::get<RunCommand>(command).options;
  CHECK(options.resume_file == "run.h5");
  CHECK(options.retry_failed);
  CHECK(options.force);
  CHECK(std::holds_alternative<RunCommand>(parse({"--resume", "a.h5", "--output", "a.h5"})));
  CHECK(exit_code({"--resume", "a.h5", "--output", "b.h5"}) == base::k_exit_usage);
  CHECK(exit_code({"--resume", "a.h5", "--sizes", "1K"}) == base::k_exit_usage);
  CHECK(exit_code({"--resume", "a.h5", "--plan", "a.toml"}) == base::k_exit_usage);
  CHECK(exit_code({"--resume", "a.h5", "--no-sweep"}) == base::k_exit_usage);
  CHECK(exit_code({"--retry-failed"}) == base::k_exit_usage);
  CHECK(exit_code({"plan", "--resume", "a.h5"}) == base::k_exit_usage);
}

TEST_CASE("help is no mistake") {
  CHECK(exit_code({"--help"}) == base::k_exit_ok);
  CHECK(exit_code({"run", "--help"}) == base::k_exit_ok);
  CHECK(exit_code({"plan", "--help"}) == base::k_exit_ok);
}

TEST_CASE("plan, report and --version are commands of their own") {
  CHECK(std::get<PlanCommand>(parse({"plan", "--dry-run"})).dry_run == DryRun::yes);
  CHECK(std::get<ReportCommand>(parse({"report", "a.h5", "--format", "csv"})).arguments.size() ==
        3);
  CHECK(std::holds_alternative<VersionCommand>(parse({"--version"})));
}

namespace {

P2pOptions p2p_options(std::vector<std::string> words) {
  words.insert(words.begin(), "p2p");
  Command command = parse(std::move(words));
  REQUIRE(std::holds_alternative<P2pCommand>(command));
  return std::get<P2pCommand>(command).options;
}

} // namespace

TEST_CASE("options of p2p are read, and nothing said means nothing set") {
  P2pOptions none = p2p_options({});
  CHECK_FALSE(none.methods);
  CHECK_FALSE(none.mode);
  CHECK_FALSE(none.format);
  CHECK(none.repeats == 1);

  P2pOptions all = p2p_options({"--methods", "ce,latency,ce", "--directions", "bi,all", "--sizes",
                                "1M,2M", "--devices", "3,1", "--mode", "ipc", "--format", "json",
                                "--repeat", "2", "--cell-timeout", "5s"});
  CHECK(all.methods == std::vector{workload::P2pMethod::ce, workload::P2pMethod::latency});
  CHECK(all.directions == std::vector{workload::P2pDirection::bi, workload::P2pDirection::all});
  CHECK(all.sizes == std::vector<std::uint64_t>{1 << 20, 2 << 20});
  CHECK(all.devices == std::vector{3, 1});
  CHECK(all.mode == workload::P2pMode::ipc);
  CHECK(all.format == analysis::Format::json);
  CHECK(all.cell_deadline_ns == 5'000'000'000);
  CHECK_FALSE(all.startup_deadline_ns);
}

TEST_CASE("options that commands share are refused alike by all of them") {
  for (const char* command : {"run", "plan", "p2p"})
    for (auto words : {std::vector<std::string>{"--seed", "18446744073709551615"},
                       {"--seed", "-1"},
                       {"--cell-timeout", "5 parsecs"},
                       {"--startup-timeout", "soon"}}) {
      INFO(command << " " << words[0]);
      words.insert(words.begin(), command);
      CHECK(exit_code(words) == base::k_exit_usage);
    }
  for (const char* command : {"run", "p2p", "topo", "doctor"}) {
    INFO(command);
    CHECK(exit_code({command, "--library", "nccl"}) == base::k_exit_usage);
    CHECK(exit_code({command, "--library", "foo=/lib/foo.so"}) == base::k_exit_usage);
  }
  CHECK(exit_code({"doctor", "--backend", "synthetic"}) == base::k_exit_usage);
  CHECK(p2p_options({"--library", "nccl=/a.so", "--library", "nvml=/b.so"}).libraries ==
        std::vector<model::Setting>{{"nccl", "/a.so"}, {"nvml", "/b.so"}});
}

TEST_CASE("the options of models are read, and buckets' options go with buckets only") {
  Command command = parse({"models", "gpt2-124m", "--buckets", "--bucket-cap", "50M", "--type",
                           "bf16", "--order", "first-step", "--sequence", "128", "--layers", "2"});
  REQUIRE(std::holds_alternative<ModelsCommand>(command));
  const ModelsOptions& options = std::get<ModelsCommand>(command).options;
  CHECK(options.model == "gpt2-124m");
  CHECK(options.bucket_bytes == 50 << 20);
  CHECK(options.type == model::DataType::bf16);
  CHECK(options.order == workload::BucketOrder::first_step);
  CHECK(options.sequence == 128);
  CHECK(options.blocks == 2);

  CHECK(exit_code({"models", "--help"}) == base::k_exit_ok);
  CHECK(exit_code({"models", "gpt2-124m", "--type", "bf16"}) == base::k_exit_usage);
  CHECK(exit_code({"models", "--buckets"}) == base::k_exit_usage);
  CHECK(exit_code({"models", "gpt2-124m", "--format", "xml"}) == base::k_exit_usage);
  CHECK(exit_code({"models", "gpt2-124m", "--sequence", "0"}) == base::k_exit_usage);
}

TEST_CASE("what p2p does not know ends with exit code 2") {
  CHECK(exit_code({"p2p", "--methods", "teleport"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--directions", "together"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--devices", "-1"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--mode", "both"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--sizes", "0x"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--format", "xml"}) == base::k_exit_usage);
  CHECK(exit_code({"p2p", "--help"}) == base::k_exit_ok);
}

TEST_CASE("doctor's options are read, and those that exclude each other are refused") {
  Command command = parse({"doctor", "--deep", "--load-time", "2m", "--format", "json"});
  REQUIRE(std::holds_alternative<DoctorCommand>(command));
  const DoctorOptions& options = std::get<DoctorCommand>(command).options;
  CHECK(options.deep);
  CHECK(options.load_ns == 120'000'000'000);
  CHECK(options.format == "json");
  CHECK_FALSE(options.backend);

  CHECK(exit_code({"doctor", "--offline", "a.json", "--deep"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--load-time", "10s"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--deep", "--load-time", "1s"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--library", "nonsense"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--gpu", "T4", "--no-run"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--log", "-", "--deep"}) == base::k_exit_usage);
  CHECK(exit_code({"doctor", "--help"}) == base::k_exit_ok);
}
