// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/nccl_values.h"

using namespace ncclprobe::workload;
using ncclprobe::model::Setting;

namespace {

// Two H200 of a virtual machine: no adapter, no plugin.
NcclPlace bare(int version = 22803) {
  NcclPlace place;
  place.version = version;
  place.has_rdma = false;
  place.interfaces = {{"lo", "eth0"}};
  place.looked_for = {{"libnccl-net.so", false}};
  return place;
}

Judgement judged(const char* name, const char* value, const NcclPlace& place = bare(),
                 const Variables& all = {}) {
  return judge({name, value}, all, place);
}

Reading reading(const char* name, const char* value, const NcclPlace& place = bare(),
                const Variables& all = {}) {
  return judged(name, value, place, all).reading;
}

} // namespace

TEST_CASE("what NCCL 2.28 refuses is refused, with the nearest legal value") {
  struct Example {
    Setting setting;
    const char* better;
    const char* log_words;
  };
  const Example k_examples[] = {
      {{"NCCL_ALGO", "Rng"}, "NCCL_ALGO=Ring", "Unrecognized element token \"Rng\""},
      {{"NCCL_PROTO", "LL129"}, "NCCL_PROTO=LL128", "Unrecognized element token \"LL129\""},
      {{"NCCL_ALGO", "ring,tree2"}, "NCCL_ALGO=ring,Tree", "Unrecognized element token \"tree2\""},
      {{"NCCL_ALGO", "Ring, Tree"}, "NCCL_ALGO=Ring,Tree", "Unrecognized element token \" Tree\""},
      {{"NCCL_ALGO", "allreduc:tree"},
       "NCCL_ALGO=AllReduce:tree",
       "Unrecognized prefix token \"allreduc\""},
      {{"NCCL_ALGO", "ring;tree"}, "", "All entries except the first must have a prefix"},
      {{"NCCL_NET", "Sockets"}, "NCCL_NET=Socket", "Failed to initialize any NET plugin"},
      {{"NCCL_NET", "IB"}, "NCCL_NET=Socket", "Failed to initialize any NET plugin"},
      {{"NCCL_NET", "AWS Libfabric"}, "NCCL_NET=Socket", "Failed to initialize any NET plugin"},
      {{"NCCL_NET", ""}, "", "NET plugin"},
      {{"NCCL_COMM_ID", ""}, "", "Invalid NCCL_COMM_ID"},
      {{"NCCL_COMM_ID", "[fe80::1"}, "", "Invalid NCCL_COMM_ID"},
      {{"NCCL_SOCKET_IFNAME", "eth1"}, "NCCL_SOCKET_IFNAME=eth0", "no socket interface found"},
      {{"NCCL_SOCKET_IFNAME", "^lo,eth"}, "", "no socket interface found"},
  };
  for (const Example& example : k_examples) {
    Judgement judgement = judge(example.setting, {}, bare());
    INFO(example.setting.name << "=" << example.setting.value << ": " << judgement.why);
    CHECK(judgement.reading == Reading::refused);
    CHECK(judgement.better == example.better);
    CHECK_THAT(judgement.log_words, ContainsSubstring(example.log_words));
    CHECK_FALSE(judgement.why.empty());
    CHECK_FALSE(judgement.outcome.empty());
  }
}

TEST_CASE("what NCCL takes as it is meant is left alone") {
  for (const Setting& setting : std::vector<Setting>{
           {"NCCL_ALGO", "Ring"},
           {"NCCL_ALGO", "^nvls,NVLSTree"},
           {"NCCL_ALGO", "allreduce:tree,ring;broadcast:ring"},
           {"NCCL_ALGO", "ring;allreduce:^tree"},
           {"NCCL_PROTO", "simple,ll128"},
           {"NCCL_NET", "socket"},
           {"NCCL_P2P_LEVEL", "NVL"},
           {"NCCL_P2P_LEVEL", "4"},
           {"NCCL_IB_TIMEOUT", "0x14"},
           {"NCCL_DEBUG", "info"},
           {"NCCL_DEBUG_SUBSYS", "^INIT,coll"},
           {"NCCL_CROSS_NIC", "2"},
           {"NCCL_CUMEM_ENABLE", "-2"},
           {"NCCL_SOCKET_IFNAME", "=eth0"},
           {"NCCL_SOCKET_IFNAME", "^docker"},
           {"NCCL_SOCKET_FAMILY", "AF_INET6"},
           {"NCCL_COMM_ID", "192.0.2.1:4000"},
           {"NCCL_NTHREADS", "256"},
           {"NCCL_HOSTID", "a"},
           {"NCCL_VERSION", "2.28.3-1"},
           {"LD_LIBRARY_PATH", "/opt"},
       }) {
    Judgement judgement = judge(setting, {}, bare());
    INFO(setting.name << "=" << setting.value << ": " << judgement.why);
    CHECK(judgement.reading == Reading::as_meant);
    CHECK(describe(setting, judgement, bare()).empty());
  }
}

TEST_CASE("a network that may be a plugin's is refused only if no plugin can be found") {
  NcclPlace place = bare();
  place.looked_for["libnccl-net.so"] = true;
  CHECK(reading("NCCL_NET", "AWS Libfabric", place) == Reading::uncertain);
  CHECK(reading("NCCL_NET", "IB", place) == Reading::as_meant);

  place.looked_for.clear();
  CHECK(reading("NCCL_NET", "AWS Libfabric", place) == Reading::uncertain);
  CHECK(reading("NCCL_NET", "Sockets", place) == Reading::refused); // nobody's name

  place.looked_for = {{"libnccl-net.so", false}, {"ofi", false}, {"libnccl-net-ofi.so", true}};
  Variables with_plugin{{"NCCL_NET_PLUGIN", "ofi"}};
  CHECK(reading("NCCL_NET", "AWS Libfabric", place, with_plugin) == Reading::uncertain);
  CHECK(names_to_look_for({"NCCL_NET", "x"}, with_plugin) ==
        std::vector<std::string>{"libnccl-net.so", "ofi", "libnccl-net-ofi.so"});
}

TEST_CASE("NCCL_NET=IB needs an adapter that is not switched off") {
  NcclPlace place = bare();
  place.has_rdma = true;
  CHECK(reading("NCCL_NET", "IB", place) == Reading::as_meant);
  CHECK(reading("NCCL_NET", "IB", place, {{"NCCL_IB_DISABLE", "1"}}) == Reading::refused);
  place.has_rdma.reset();
  CHECK(reading("NCCL_NET", "IB", place) == Reading::as_meant);
}

TEST_CASE("before 2.24 unknown words of lists were passed over") {
  Judgement judgement = judged("NCCL_ALGO", "Rng", bare(22304));
  CHECK(judgement.reading == Reading::misread);
  CHECK(judgement.better == "NCCL_ALGO=Ring");
  CHECK(reading("NCCL_ALGO", "NVLS", bare(21602)) == Reading::misread);
  CHECK(reading("NCCL_ALGO", "allreduce:tree", bare(22304)) == Reading::misread);
  CHECK(reading("NCCL_ALGO", "NVLS", bare(21701)) == Reading::as_meant);
}

TEST_CASE("a release newer than all that is known may have brought the word") {
  CHECK(reading("NCCL_ALGO", "Mesh", bare(k_newest_known_nccl)) == Reading::refused);
  CHECK(reading("NCCL_ALGO", "Mesh", bare(k_newest_known_nccl + 1)) == Reading::uncertain);
}

TEST_CASE("a part that NCCL does not look at is told") {
  Judgement judgement = judged("NCCL_ALGO", "allreduce:tree:ring");
  CHECK(judgement.reading == Reading::misread);
  CHECK_THAT(judgement.why, ContainsSubstring("':ring'"));
}

TEST_CASE("integers that NCCL silently reads as something else are told, with what was meant") {
  CHECK(judged("NCCL_P2P_DISABLE", "yes").better == "NCCL_P2P_DISABLE=1");
  CHECK(judged("NCCL_SHM_DISABLE", "False").better == "NCCL_SHM_DISABLE=0");
  CHECK(judged("NCCL_BUFFSIZE", "8M").better == "NCCL_BUFFSIZE=8388608");
  CHECK(judged("NCCL_BUFFSIZE", "4MiB").better == "NCCL_BUFFSIZE=4194304");
  CHECK_THAT(judged("NCCL_BUFFSIZE", "8M").outcome, ContainsSubstring("as 8 without a warning"));
  for (const char* value : {"yes", "8M", "twenty", "0x", "99999999999999999999"}) {
    INFO(value);
    CHECK(reading("NCCL_IB_TIMEOUT", value) == Reading::misread);
  }
  CHECK(reading("NCCL_IB_TIMEOUT", "022") == Reading::uncertain); // octal
}

TEST_CASE("numbers outside the limits: each as NCCL takes them") {
  auto outcome = [](const char* name, const char* value) {
    Judgement judgement = judged(name, value);
    CHECK(judgement.reading == Reading::limited);
    return judgement.outcome;
  };
  CHECK(outcome("NCCL_MAX_CTAS", "1000") == "NCCL takes 64");
  CHECK(outcome("NCCL_MAX_CTAS", "0") == "NCCL continues with its default");
  CHECK(outcome("NCCL_MAX_NCHANNELS", "0") == "NCCL takes 1");
  CHECK(outcome("NCCL_P2P_DISABLE", "2") == "NCCL takes it for 0");
  CHECK(outcome("NCCL_IB_DISABLE", "2") == "NCCL takes it for 1");
  CHECK(outcome("NCCL_COMM_BLOCKING", "2") == "NCCL continues with its default");
  CHECK(outcome("NCCL_SOCKET_NTHREADS", "17") == "NCCL takes 16");
  CHECK_THAT(outcome("NCCL_IB_TC", "256"), ContainsSubstring("does not check it"));
  CHECK_THAT(outcome("NCCL_NTHREADS", "100"), ContainsSubstring("the largest allowed value"));
  CHECK_THAT(outcome("NCCL_NTHREADS", "-1"), ContainsSubstring("its default"));
  CHECK_THAT(outcome("NCCL_WORK_FIFO_BYTES", "3000"), ContainsSubstring("its default"));
}

TEST_CASE("words that NCCL does not know: each as NCCL continues") {
  CHECK(judged("NCCL_P2P_LEVEL", "nvl").better == "NCCL_P2P_LEVEL=NVL");
  CHECK(judged("NCCL_DEBUG", "WARNING").better == "NCCL_DEBUG=WARN");
  CHECK_THAT(judged("NCCL_LAUNCH_MODE", "GRUOP").outcome, ContainsSubstring("with PARALLEL"));
  CHECK_THAT(judged("NCCL_NET_MERGE_LEVEL", "XYZ").outcome, ContainsSubstring("with LOC"));
  CHECK(reading("NCCL_P2P_LEVEL", "-1") == Reading::misread);
  CHECK_THAT(judged("NCCL_P2P_LEVEL", "P2C", bare(22602)).why,
             ContainsSubstring("needs NCCL 2.27.3"));
  CHECK(reading("NCCL_SOCKET_FAMILY", "af_inet") == Reading::misread);
  CHECK(reading("NCCL_NETDEVS_POLICY", "MAX:2", bare(23007)) == Reading::as_meant);
  CHECK(reading("NCCL_NETDEVS_POLICY", "MAX:0", bare(23007)) == Reading::misread);

  CHECK_THAT(judged("NCCL_DEBUG_SUBSYS", "INIT,TUNNING", bare(22803)).outcome,
             ContainsSubstring("skips the word"));
  CHECK_THAT(judged("NCCL_DEBUG_SUBSYS", "INIT,TUNNING", bare(23007)).outcome,
             ContainsSubstring("ignores the whole list"));
  CHECK(judged("NCCL_DEBUG_SUBSYS", "INIT,TUNNING").better == "NCCL_DEBUG_SUBSYS=INIT,TUNING");

  CHECK(reading("NCCL_CTA_POLICY", "EFFICIENCY|ZERO", bare(23007)) == Reading::as_meant);
  CHECK(reading("NCCL_CTA_POLICY", "EFFICIENCY", bare(22803)) == Reading::misread); // a number then
  CHECK(reading("NCCL_CTA_POLICY", "7", bare(22803)) == Reading::misread);
  CHECK(reading("NCCL_SET_THREAD_NAME", "true", bare(23007)) == Reading::as_meant);
  CHECK(reading("NCCL_SET_THREAD_NAME", "2", bare(23007)) == Reading::misread);
  CHECK(reading("NCCL_SET_THREAD_NAME", "true", bare(22803)) == Reading::misread);
}

TEST_CASE("an empty value is none, but for those that take it for one") {
  CHECK(reading("NCCL_ALGO", "") == Reading::unset);
  CHECK(reading("NCCL_BUFFSIZE", "") == Reading::unset);
  CHECK(reading("NCCL_HOSTID", "") == Reading::misread);
  CHECK(reading("NCCL_TOPO_FILE", "") == Reading::misread);
  CHECK(reading("NCCL_NET_PLUGIN", "") == Reading::misread);
  CHECK(reading("NCCL_NET_PLUGIN", "", bare(22602)) == Reading::unset);
  CHECK(reading("NCCL_GRAPH_FILE", "") == Reading::refused);
}

TEST_CASE("files and libraries that are not there are told, where they were looked for") {
  NcclPlace place = bare();
  CHECK(reading("NCCL_GRAPH_FILE", "/no/such.xml", place) == Reading::as_meant); // not looked for
  place.looked_for["/no/such.xml"] = false;
  CHECK(reading("NCCL_GRAPH_FILE", "/no/such.xml", place) == Reading::refused);
  CHECK(reading("NCCL_TOPO_FILE", "/no/such.xml", place) == Reading::misread);

  CHECK(names_to_look_for({"NCCL_TUNER_PLUGIN", "google"}, {}) ==
        std::vector<std::string>{"google", "libnccl-tuner-google.so"});
  place.looked_for["google"] = false;
  place.looked_for["libnccl-tuner-google.so"] = false;
  CHECK(reading("NCCL_TUNER_PLUGIN", "google", place) == Reading::misread);
  place.looked_for["libnccl-tuner-google.so"] = true;
  CHECK(reading("NCCL_TUNER_PLUGIN", "google", place) == Reading::as_meant);
  CHECK(names_to_look_for({"NCCL_TUNER_PLUGIN", "none"}, {}).empty());
  CHECK(reading("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", place) == Reading::as_meant);
}

TEST_CASE("names that NCCL does not read are judged before their values") {
  CHECK(judged("NCCL_ALOG", "Ring").reading == Reading::misspelt);
  CHECK(judged("NCCL_ALOG", "Ring").better == "NCCL_ALGO=Ring");
  CHECK(judged("NCCL_TIMEOUT", "5").reading == Reading::unread);
  CHECK(judged("NCCL_TIMEOUT", "5").better.empty());
  CHECK(judged("NCCL_IB_ENABLE", "0").better == "NCCL_IB_DISABLE=1");
  CHECK(judged("NCCL_NVLS_DISABLE", "1").better == "NCCL_NVLS_ENABLE=0");
  CHECK(judged("NCCL_FASTRAK_IFNAME", "eth1").reading == Reading::uncertain);
  CHECK(judged("NCCL_PAT_ENABLE", "1", bare(22203)).reading == Reading::unread);
}

TEST_CASE("what is said names NCCL, the value, the reason and what was meant") {
  const Setting setting{"NCCL_ALGO", "Rng"};
  CHECK(describe(setting, judge(setting, {}, bare()), bare()) ==
        "NCCL 2.28.3 refuses NCCL_ALGO=Rng: 'Rng' is not one of Tree, Ring, CollNetDirect, "
        "CollNetChain, NVLS, NVLSTree, PAT; every communicator ends with 'invalid usage'; did you "
        "mean NCCL_ALGO=Ring?");
  NcclPlace unknown;
  unknown.host = "beta";
  CHECK_THAT(describe(setting, judge(setting, {}, unknown), unknown),
             ContainsSubstring("NCCL (judged by 2.31.2, the newest known here) on beta refuses"));
}

TEST_CASE("of a value that is not told the right name alone is advised") {
  CHECK(judged("NCCL_ALOG", "(set)").better == "NCCL_ALGO");
}
