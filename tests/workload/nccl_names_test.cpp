// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/nccl_name_table.h"
#include "workload/nccl_names.h"
#include "workload/nccl_variables.h"

using namespace ncclprobe::workload;

TEST_CASE("a misspelt name finds the one that was meant") {
  constexpr std::pair<const char*, const char*> k_examples[] = {
      {"NCCL_ALOG", "NCCL_ALGO"},
      {"NCCL_ALGOS", "NCCL_ALGO"},
      {"NCCL_BUFSIZE", "NCCL_BUFFSIZE"},
      {"NCCL_P2P_DISABEL", "NCCL_P2P_DISABLE"},
      {"NCCL_DISABLE_P2P", "NCCL_P2P_DISABLE"},
      {"NCCL_NSOCKS_PER_THREAD", "NCCL_NSOCKS_PERTHREAD"},
      {"NCCL_IB_QP_PER_CONNECTION", "NCCL_IB_QPS_PER_CONNECTION"},
      {"NCCL_MIN_NCHANNEL", "NCCL_MIN_NCHANNELS"},
      {"NCCL_MAX_CTA", "NCCL_MAX_CTAS"},
      {"NCCL_SOCKETIFNAME", "NCCL_SOCKET_IFNAME"},
      {"NCCL_TUNER_PLUGN", "NCCL_TUNER_PLUGIN"},
  };
  for (const auto& [name, meant] : k_examples) {
    INFO(name);
    NameJudgement judgement = judge_name(name);
    CHECK(judgement.kind == NameKind::misspelt);
    CHECK(judgement.better == meant);
  }
}

TEST_CASE("the variables of the tuner plugin are its own, not misspelt ones of a backend") {
  CHECK(judge_name("NCCLPROBE_TUNER_TABLE").kind == NameKind::foreign);
  CHECK(judge_name("NCCLPROBE_TUNER_HITS").kind == NameKind::foreign);
  CHECK_FALSE(is_own_variable("NCCLPROBE_TUNER_TABLE")); // it is a path
}

TEST_CASE("a name that lacks a part is another name") {
  NameJudgement timeout = judge_name("NCCL_TIMEOUT");
  CHECK(timeout.kind == NameKind::mistaken);
  CHECK(timeout.better.empty());
  CHECK_THAT(timeout.why, ContainsSubstring("init_process_group(timeout=...)"));
  CHECK_THAT(timeout.why, !ContainsSubstring("NCCL_IB_TIMEOUT"));

  NameJudgement window = judge_name("NCCL_STRIDE");
  CHECK(window.kind == NameKind::similar);
  CHECK(window.better.empty());
  CHECK_THAT(window.why, ContainsSubstring("NCCL_WIN_STRIDE"));
}

TEST_CASE("a switch that NCCL has the other way round is never taken for another one") {
  for (auto [name, meant] : {std::pair("NCCL_IB_ENABLE", "NCCL_IB_DISABLE"),
                             std::pair("NCCL_NVLS_DISABLE", "NCCL_NVLS_ENABLE"),
                             std::pair("NCCL_P2P_ENABLE", "NCCL_P2P_DISABLE")}) {
    NameJudgement judgement = judge_name(name);
    INFO(name);
    CHECK(judgement.kind == NameKind::mistaken);
    CHECK(judgement.better == meant);
    CHECK(judgement.inverse);
  }
}

TEST_CASE("names that people believe in are told what they are") {
  NameJudgement wait = judge_name("NCCL_BLOCKING_WAIT");
  CHECK(wait.kind == NameKind::mistaken);
  CHECK_THAT(wait.why, ContainsSubstring("TORCH_NCCL_BLOCKING_WAIT"));
  CHECK(judge_name("NCCL_IB_GID").better == "NCCL_IB_GID_INDEX");
  CHECK(judge_name("NCCL_LOG_LEVEL").better == "NCCL_DEBUG");
  for (const char* name : {"NCCL_LL_THRESHOLD", "NCCL_TREE_THRESHOLD", "NCCL_IB_GDR_LEVEL"}) {
    INFO(name);
    CHECK(judge_name(name).kind == NameKind::not_read);
    CHECK_THAT(judge_name(name).why, ContainsSubstring("the closest name is NCCL_"));
  }
}

TEST_CASE("names of plugins, tools and builds are no misspellings") {
  for (const char* name :
       {"NCCL_OFI_TUNER_TYPE", "OFI_NCCL_PROTOCOL", "NCCL_GPUDIRECTTCPX_CTRL_DEV",
        "NCCL_FASTRAK_IFNAME", "NCCL_TUNER_CONFIG_PATH", "NCCL_IBEXT_DISABLE", "NCCL_SHARP_DISABLE",
        "NCCL_INSPECTOR_ENABLE", "NCCL_TESTS_MIN_BW"}) {
    INFO(name);
    CHECK(judge_name(name).kind == NameKind::foreign);
    CHECK_THAT(judge_name(name).why, ContainsSubstring("reads it"));
  }
  for (const char* name : {"NCCL_VERSION", "NCCL_HOME", "NCCL_LIB_DIR", "MY_OWN", "HOME"}) {
    INFO(name);
    NameKind kind = judge_name(name).kind;
    CHECK((kind == NameKind::harmless || kind == NameKind::known));
  }
  CHECK(judge_name("NCCL_SOMETHING_ALTOGETHER_DIFFERENT").kind == NameKind::unknown);
  CHECK(judge_name("NCCL_").kind == NameKind::unknown);
}

TEST_CASE("whether a name is read depends on the release") {
  CHECK(judge_name("NCCL_CTA_POLICY", 22803).kind == NameKind::known);
  NameJudgement early = judge_name("NCCL_CTA_POLICY", 22602);
  CHECK(early.kind == NameKind::not_read);
  CHECK(early.why == "it came with 2.27.3");

  CHECK(judge_name("NCCL_SHM_USE_CUDA_MEMCPY", 22803).kind == NameKind::known);
  CHECK(judge_name("NCCL_SHM_USE_CUDA_MEMCPY").kind == NameKind::not_read);

  // NCCL 2.14.3 to 2.16.2 had a typing error: they read NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS.
  CHECK(judge_name("NCCL_ALLOC_P2P_NET_LL_BUFFERS", 21602).kind == NameKind::not_read);
  CHECK(judge_name("NCCL_ALLOC_P2P_NET_LL_BUFFERS", 21605).kind == NameKind::known);

  // A release that is newer than all that is known may have brought the name.
  CHECK(judge_name("NCCL_ALGOS", k_newest_known_nccl + 100).kind == NameKind::similar);
}

TEST_CASE("no name stands in two tables, and what is advised is a variable of today") {
  using namespace table;
  auto is_today = [](std::string_view name) {
    const Variable* variable = find_variable(name);
    return variable != nullptr && variable->until == 0;
  };
  for (const RetiredName& one : k_retired) {
    INFO(one.name);
    CHECK(find_variable(one.name) == nullptr);
    CHECK(is_today(one.better));
  }
  for (const OtherName& one : k_other_names) {
    INFO(one.name);
    CHECK(find_variable(one.name) == nullptr);
    CHECK(is_today(one.better));
  }
  for (const Fiction& one : k_fictions)
    CHECK(find_variable(one.name) == nullptr);
  for (std::string_view name : k_of_pytorch)
    CHECK(find_variable(name) == nullptr);
  for (std::string_view name : k_of_builds)
    CHECK(find_variable(name) == nullptr);
}
