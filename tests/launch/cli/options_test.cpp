// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/option_values.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/job/run_options.h"
#include "launch/cli/models/models_command.h"
#include "launch/cli/p2p/p2p_command.h"
#include "launch/cli/plan/plan_command.h"
#include "launch/cli/run_line.h"
#include "launch/cli/topo/topo_command.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;
using namespace ncclprobe::cli_test;

TEST_CASE("nothing said means nothing set") {
  RunOptions none = run_options({});
  CHECK_FALSE(none.sizes.has_value());
  CHECK_FALSE(none.backend.has_value());
  CHECK(none.axes.empty());
  CHECK(run_options({"--ranks", "4"}).ranks == 4);
}

TEST_CASE("no option takes an empty value") {
  for (const char* option : {"-o", "--output", "--resume", "--plan", "--sizes", "--model",
                             "--library", "--set", "--override"})
    CHECK_THAT(refusal(run_usage, {option, ""}), ContainsSubstring("empty"));
  CHECK_FALSE(refusal(topo_usage, {"--record", ""}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--log", ""}).empty());
  CHECK_FALSE(refusal(models_usage, {""}).empty());
}

TEST_CASE("a resumed run takes only what may name again what it loads") {
  for (const char* option : {"--library=nccl=/x", "--compare-library=nccl=/x,/y", "--set=A=b",
                             "--rank-set=0:A=b", "--model=net.json"})
    CHECK(run_options({"--resume", "run.h5", option}).resume_file == "run.h5");
  for (const char* option : {"--sizes=1K", "--plan=p.toml", "--backend=host", "--ranks=2"})
    CHECK(refused({"--resume", "run.h5", option}));
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

TEST_CASE("mistakes are refused") {
  CHECK(refused({"--sizes", "64Q"}));
  CHECK(refused({"--collectives", "allreduce"}));
  CHECK(refused({"--ranks", "0"}));
  CHECK(refused({"--counts", "1K"}));
  CHECK(refused({"--counts", "1,,2"}));
  CHECK(refused({"--roots", "-1"}));
  CHECK(refused({"--split", "0"}));
  CHECK(refused({"--streams", "2000000"}));
  CHECK(refused({"--set", "NCCL_ALGO"}));
  CHECK(refused({"--rank-set", "3-1:A=b"}));
  CHECK_THAT(refusal(run_usage, {"--size", "1K"}),
             ContainsSubstring("unknown option '--size'; did you mean --sizes?"));
  CHECK(refused({"extra"}));
  CHECK(refused({"--backend", "rocm"}));
  CHECK(refused({"--library", "foo=/lib/foo.so"}));
  CHECK(refused({"--no-sweep", "--set", "NCCL_ALGO=Ring"}));
  CHECK(refused({"--seed", "18446744073709551615"}));
}

TEST_CASE("every command that writes what the user names takes --force") {
  CHECK(run_options({"--force"}).force);
  CHECK(parsed(p2p_usage, {"--force"}).force);
  const auto yes = base::Overwrite::yes;
  CHECK(parsed(doctor_usage, {"--force"}).output.overwrite == yes);
  CHECK(parsed(topo_usage, {"--force"}).output.overwrite == yes);
  CHECK(parsed(models_usage, {"--force"}).output.overwrite == yes);
  CHECK_FALSE(run_options({}).force);
}

TEST_CASE("what --resume goes on with is taken from the file, and nothing else") {
  const RunOptions options =
      run_options({"--resume", "run.h5", "--retry-failed", "--force", "--quiet"});
  CHECK(options.resume_file == "run.h5");
  CHECK(options.retry_failed);
  CHECK(options.force);
  CHECK_FALSE(refused({"--resume", "a.h5", "--output", "a.h5"}));
  CHECK(refused({"--resume", "a.h5", "--output", "b.h5"}));
  CHECK(refused({"--resume", "a.h5", "--sizes", "1K"}));
  CHECK(refused({"--resume", "a.h5", "--plan", "a.toml"}));
  CHECK(refused({"--resume", "a.h5", "--no-sweep"}));
  CHECK(refused({"--retry-failed"}));
  CHECK_FALSE(refusal(plan_usage, {"--resume", "a.h5"}).empty());
}

namespace {

P2pOptions p2p_options(const std::vector<std::string>& words) {
  return parsed(p2p_usage, words);
}

} // namespace

TEST_CASE("options of p2p are read, and nothing said means nothing set") {
  P2pOptions none = p2p_options({});
  CHECK_FALSE(none.methods);
  CHECK_FALSE(none.mode);
  CHECK_FALSE(none.format);
  CHECK_FALSE(none.repeats.has_value());

  P2pOptions all = p2p_options({"--methods", "ce,latency,ce", "--directions", "bi,all", "--sizes",
                                "1M,2M", "--devices", "3,1", "--mode", "ipc", "--format", "json",
                                "--repeat", "2", "--cell-timeout", "5s"});
  CHECK(all.methods == std::vector{model::P2pMethod::ce, model::P2pMethod::latency});
  CHECK(all.directions == std::vector{model::P2pDirection::bi, model::P2pDirection::all});
  CHECK(all.sizes == std::vector<std::uint64_t>{1 << 20, 2 << 20});
  CHECK(all.devices == std::vector{3, 1});
  CHECK(all.mode == model::P2pMode::ipc);
  CHECK(all.format == analysis::Format::json);
  CHECK(all.cell_deadline_ns == 5'000'000'000);
  CHECK_FALSE(all.startup_deadline_ns);
}

TEST_CASE("options that commands share are refused alike by all of them") {
  for (auto words : {std::vector<std::string>{"--seed", "18446744073709551615"},
                     {"--seed", "-1"},
                     {"--cell-timeout", "5 parsecs"},
                     {"--startup-timeout", "soon"},
                     {"--library", "nccl"},
                     {"--library", "foo=/lib/foo.so"}}) {
    INFO(words[0]);
    CHECK(refused(words));
    CHECK_FALSE(refusal(plan_usage, words).empty());
    CHECK_FALSE(refusal(p2p_usage, words).empty());
  }
  CHECK_FALSE(refusal(topo_usage, {"--library", "nccl"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--library", "foo=/lib/foo.so"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--backend", "synthetic"}).empty());
  CHECK(p2p_options({"--library", "nccl=/a.so", "--library", "nvml=/b.so"}).libraries ==
        std::vector<model::Setting>{{"nccl", "/a.so"}, {"nvml", "/b.so"}});
}

TEST_CASE("the options of models are read, and buckets' options go with buckets only") {
  const ModelsOptions options =
      parsed(models_usage, {"gpt2-124m", "--buckets", "--bucket-cap", "50M", "--type", "bf16",
                            "--order", "first-step", "--sequence", "128", "--layers", "2"});
  CHECK(options.model == "gpt2-124m");
  CHECK(options.bucket_bytes == 50 << 20);
  CHECK(options.type == model::DataType::bf16);
  CHECK(options.order == workload::BucketOrder::first_step);
  CHECK(options.sequence == 128);
  CHECK(options.blocks == 2);

  CHECK_FALSE(refusal(models_usage, {"gpt2-124m", "--type", "bf16"}).empty());
  CHECK_FALSE(refusal(models_usage, {"--buckets"}).empty());
  CHECK_FALSE(refusal(models_usage, {"gpt2-124m", "--format", "xml"}).empty());
  CHECK_FALSE(refusal(models_usage, {"gpt2-124m", "--sequence", "0"}).empty());
}

TEST_CASE("p2p refuses what it does not know") {
  CHECK_FALSE(refusal(p2p_usage, {"--methods", "teleport"}).empty());
  CHECK_FALSE(refusal(p2p_usage, {"--directions", "together"}).empty());
  CHECK_FALSE(refusal(p2p_usage, {"--devices", "-1"}).empty());
  CHECK_FALSE(refusal(p2p_usage, {"--mode", "both"}).empty());
  CHECK_FALSE(refusal(p2p_usage, {"--sizes", "0x"}).empty());
  CHECK_FALSE(refusal(p2p_usage, {"--format", "xml"}).empty());
}

TEST_CASE("doctor's options are read, and those that exclude each other are refused") {
  const DoctorOptions options =
      parsed(doctor_usage, {"--deep", "--load-time", "2m", "--format", "json"});
  CHECK(options.deep);
  CHECK(options.load_ns == 120'000'000'000);
  CHECK(options.format == "json");
  CHECK_FALSE(options.backend);

  CHECK_FALSE(refusal(doctor_usage, {"--offline", "a.json", "--deep"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--load-time", "10s"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--deep", "--load-time", "1s"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--library", "nonsense"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--gpu", "T4", "--no-run"}).empty());
  CHECK_FALSE(refusal(doctor_usage, {"--log", "-", "--deep"}).empty());
}
