// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/delivered_files.h"
#include "support/catch.h"

#include <algorithm>
#include <map>

using namespace ncclprobe;
using namespace ncclprobe::analysis::tune;

namespace {

std::map<std::string, std::string> files_of(const std::vector<model::Setting>& environment,
                                            const std::vector<model::Setting>& step_options = {}) {
  std::map<std::string, std::string> files;
  for (const DeliveredFile& one :
       delivered_files({environment, step_options, {.gpu = "2 H200", .gain = "1.10x"}}))
    files[one.name] = one.content;
  for (const auto& [name, content] : files)
    CHECK(std::ranges::find(k_delivered_names, name) != k_delivered_names.end());
  return files;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

} // namespace

TEST_CASE("settings are delivered in every form that can hold them") {
  auto files = files_of({{"NCCL_MIN_CTAS", "32"}, {"NCCL_ALGO", "allreduce:ring;bcast:ring"}});
  REQUIRE(files.size() == 5);
  CHECK(has_line(files["nccl.conf"], "NCCL_MIN_CTAS=32"));
  CHECK(has_line(files["nccl.conf"], "NCCL_ALGO=allreduce:ring;bcast:ring")); // no shell reads it
  CHECK(has_line(files["settings.sh"],
                 "export NCCL_MIN_CTAS=32 NCCL_ALGO='allreduce:ring;bcast:ring'"));
  CHECK(has_line(files["launch.txt"], "mpirun --bind-to none -x NCCL_MIN_CTAS=32 -x "
                                      "NCCL_ALGO='allreduce:ring;bcast:ring' PROGRAM"));
  CHECK(has_line(files["nccl_config.c"], "config.minCTAs = 32;"));
  CHECK(has_line(files["ddp.py"], "options.config.min_ctas = 32"));
}

TEST_CASE("code with fields names the variables that have none") {
  auto files =
      files_of({{"NCCL_NVLS_NCHANNELS", "8"}, {"NCCL_MAX_CTAS", "8"}, {"NCCL_PROTO", "LL"}});
  CHECK(has_line(files["nccl_config.c"], "config.nvlsCTAs = 8;"));
  CHECK(has_line(files["nccl_config.c"], "// export NCCL_PROTO=LL"));
  CHECK(has_line(files["ddp.py"], "# export NCCL_NVLS_NCHANNELS=8 NCCL_PROTO=LL"));
}

TEST_CASE("every file begins with what is known of the settings, as a comment") {
  for (const auto& [name, content] : files_of({{"NCCL_MIN_CTAS", "32"}})) {
    INFO(name);
    const std::string mark = name == "nccl_config.c" ? "//" : "#";
    CHECK(content.starts_with(mark + " gpu: 2 H200\n" + mark + " gain: 1.10x\n"));
  }
}

TEST_CASE("every file says what was left out, and what may have no effect") {
  Delivery delivery{{{"NCCL_MIN_CTAS", "32"}}, {}, {}, {{"NCCL_NTHREADS", "512"}}, false};
  for (const DeliveredFile& one : delivered_files(delivery)) {
    INFO(one.name);
    const std::string mark = one.name == "nccl_config.c" ? "//" : "#";
    CHECK(has_line(one.content, mark + " left out, no effect: NCCL_NTHREADS=512"));
    CHECK(one.content.find(mark + " some of these may have no effect") != std::string::npos);
  }
  delivery.left_out.clear();
  delivery.each_change_counts = true;
  for (const DeliveredFile& one : delivered_files(delivery))
    CHECK(one.content.find("no effect") == std::string::npos);
}

TEST_CASE("a form that can hold no setting is left out") {
  auto files = files_of({{"NCCLPROBE_GLOO_ALGORITHM", "ring"}});
  CHECK(files.size() == 2);
  CHECK(files.contains("settings.sh"));
  CHECK(files.contains("launch.txt"));
  CHECK(files_of({}).empty());
}

TEST_CASE("NCCL's file says which variables have to be exported beside it") {
  auto files = files_of({{"NCCL_PROTO", "LL"}, {"NCCLPROBE_TUNER_TABLE", "/a b/table.csv"}});
  CHECK(has_line(files["nccl.conf"], "NCCL_PROTO=LL"));
  CHECK_FALSE(has_line(files["nccl.conf"], "NCCLPROBE_TUNER_TABLE=/a b/table.csv"));
  CHECK(files["nccl.conf"].find("NCCLPROBE_TUNER_TABLE='/a b/table.csv'") != std::string::npos);
}

TEST_CASE("a variable that must not be set is unset by a shell, and named where only setting is "
          "possible") {
  auto files = files_of({{"NCCL_P2P_DISABLE", "(not set)"}, {"NCCL_MIN_CTAS", "32"}});
  REQUIRE(files.size() == 5);
  CHECK(has_line(files["settings.sh"], "unset NCCL_P2P_DISABLE\nexport NCCL_MIN_CTAS=32"));
  for (const auto& [name, content] : files) {
    INFO(name);
    CHECK(content.find("NCCL_P2P_DISABLE") != std::string::npos);
    CHECK(content.find("(not set)") == std::string::npos);
  }
  auto only_removed = files_of({{"NCCL_MIN_CTAS", "(not set)"}});
  REQUIRE(only_removed.size() == 1);
  CHECK(has_line(only_removed["settings.sh"], "unset NCCL_MIN_CTAS"));
}

TEST_CASE("options of training steps are arguments of PyTorch, and of nothing else") {
  auto files = files_of({}, {{"bucket", "50M"}, {"comm-priority", "5"}, {"compress", "bf16"}});
  REQUIRE(files.size() == 1);
  CHECK(has_line(files["ddp.py"], "model = DistributedDataParallel(model, bucket_cap_mb=50)"));
  CHECK(has_line(files["ddp.py"], "options.is_high_priority_stream = True"));
  CHECK(has_line(files["ddp.py"],
                 "model.register_comm_hook(None, default_hooks.bf16_compress_hook)"));
}
