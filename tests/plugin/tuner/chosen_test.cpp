// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/tuner/chosen.h"
#include "plugin/tuner/nccl_tuner.h"

#include "support/catch.h"
#include "support/error_of.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace ncclprobe;
using namespace ncclprobe::plugin;
using namespace ncclprobe::test;

namespace {

// Catch2's own checks must stay in one thread.
void require(bool holds, const char* what) {
  if (!holds)
    throw std::runtime_error(what);
}

// Found as NCCL finds it with NCCL_TUNER_PLUGIN=STATIC_PLUGIN.
template <typename Tuner>
Tuner& tuner(const char* name) {
  void* self = dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  auto* found = static_cast<Tuner*>(dlsym(self, name));
  require(found != nullptr, name);
  return *found;
}

// A communicator of 8 ranks that asks as NCCL 2.30 does.
class Communicator {
public:
  Communicator() : tuner_(tuner<ncclTuner_v6_t>("ncclTunerPlugin_v6")) {
    ncclNvlDomainInfo_t domains{1, 8, 8};
    require(tuner_.init(&context_, 77, 8, 1, nullptr, &domains, nullptr) == 0, "init");
  }
  ~Communicator() { tuner_.finalize(context_); }
  Costs ask(int function = ncclFuncAllReduce, std::size_t bytes = 1024) {
    Costs costs;
    require(tuner_.getCollInfo(context_, function, bytes, 1, costs.table(), 7, 3, 0,
                               &costs.channels) == 0,
            "getCollInfo");
    return costs;
  }

private:
  ncclTuner_v6_t& tuner_;
  void* context_ = nullptr;
};

using tuning::Algorithm;
using tuning::Protocol;

} // namespace

TEST_CASE("without a choice, NCCL keeps its own") {
  choose({});
  Communicator communicator;
  CHECK(communicator.ask() == Costs());
  CHECK(tuner_interface() == 6);
  CHECK(why_not_applied().empty());
}

TEST_CASE("a choice holds for calls from now on, until it is cleared") {
  Communicator communicator;
  choose({.algorithm = Algorithm::tree, .protocol = Protocol::ll128, .channels = 7});

  Costs asked = communicator.ask();
  CHECK(asked.taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL128});
  CHECK(asked.channels == 7);
  CHECK(asked.us[NCCL_ALGO_TREE][NCCL_PROTO_LL128] == 50); // NCCL's estimate stays
  CHECK(communicator.ask(ncclFuncAllGather).taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL128});
  CHECK(why_not_applied().empty());

  choose({});
  CHECK(communicator.ask() == Costs());
}

TEST_CASE("NCCL chooses what the choice leaves open") {
  Communicator communicator;
  choose({.algorithm = Algorithm::tree});
  CHECK(communicator.ask().taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE});
  CHECK(communicator.ask().channels == 0);
  choose({.protocol = Protocol::ll});
  CHECK(communicator.ask().taken() == Taken{NCCL_ALGO_RING, NCCL_PROTO_LL});
  choose({.channels = 3});
  CHECK(communicator.ask().taken() == Taken{NCCL_ALGO_RING, NCCL_PROTO_SIMPLE});
  CHECK(communicator.ask().channels == 3);
}

TEST_CASE("the settings of a cell are a choice, and unknown ones are refused") {
  CHECK(choice_of({}) == CellChoice{});
  CHECK(choice_of({{"algorithm", "CollnetDirect"}, {"protocol", "LL128"}, {"channels", "8"}}) ==
        CellChoice{
            .algorithm = Algorithm::collnet_direct, .protocol = Protocol::ll128, .channels = 8});
  for (const model::Setting& wrong : {model::Setting{"algorithm", "Rng"},
                                      {"protocol", ""},
                                      {"channels", "0"},
                                      {"channels", "65"},
                                      {"channels", "8x"},
                                      {"chunk_bytes", "64K"}}) {
    CAPTURE(wrong.name, wrong.value);
    const Error error = support::error_of([&] {
      choice_of({{"algorithm", "Ring"}, {"channels", "8"}, wrong});
    });
    CHECK(error.code == Errc::unsupported);
    CHECK_THAT(error.message, ContainsSubstring(wrong.name));
  }
}

TEST_CASE("a choice for one collective leaves the others alone") {
  Communicator communicator;
  choose({.collective = model::Collective::all_gather, .protocol = Protocol::ll, .channels = 2});
  CHECK(communicator.ask(ncclFuncAllReduce) == Costs());
  CHECK(communicator.ask(ncclFuncAllGather).taken() == Taken{NCCL_ALGO_RING, NCCL_PROTO_LL});
  choose({.collective = model::Collective::all_to_all, .protocol = Protocol::ll, .channels = 2});
  CHECK(communicator.ask(ncclFuncAllReduce) == Costs());
  CHECK(communicator.ask(5) == Costs());
}

TEST_CASE("an impossible choice changes nothing and is known afterwards") {
  Communicator communicator;
  choose({.algorithm = Algorithm::nvls, .protocol = Protocol::ll, .channels = 7});
  CHECK(communicator.ask() == Costs());

  CHECK_THAT(why_not_applied(), ContainsSubstring("no NVLS with LL for all_reduce of 1024 bytes"));
  CHECK_THAT(why_not_applied(), ContainsSubstring("Ring with Simple"));
  auto all = offers();
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].applied);
  REQUIRE(all[0].possible.size() == 7);
  CHECK(all[0].possible[0].choice == tuning::Choice{Algorithm::ring, Protocol::simple}); // NCCL's
  CHECK(all[0].possible[0].us == 30);
  CHECK(all[0].ranks == 8);

  choose({.algorithm = Algorithm::pat});
  CHECK(why_not_applied().empty()); // of the choice before
  communicator.ask();
  CHECK_THAT(why_not_applied(), ContainsSubstring("no PAT for all_reduce"));
}

TEST_CASE("each kind of call has one offer, as NCCL made it") {
  Communicator communicator;
  choose({.algorithm = Algorithm::ring, .protocol = Protocol::ll});
  for (int i = 0; i < 3; ++i) {
    communicator.ask(ncclFuncAllReduce, 1024);
    communicator.ask(ncclFuncAllReduce, 4096);
  }
  auto all = offers();
  REQUIRE(all.size() == 2);
  CHECK(all[1].bytes == 4096);
  CHECK(all[1].possible.size() == 7); // also those that the choice excludes
  for (std::size_t bytes = 0; bytes < 200; ++bytes)
    communicator.ask(ncclFuncBroadcast, bytes);
  CHECK(offers().size() == 64);
}

TEST_CASE("a call sees a whole choice while another thread changes it") {
  Communicator communicator;
  const CellChoice one{.algorithm = Algorithm::tree, .protocol = Protocol::ll, .channels = 1};
  const CellChoice other{.algorithm = Algorithm::ring, .protocol = Protocol::ll128, .channels = 2};
  choose(one);
  std::atomic<bool> done{false};
  std::atomic<int> mixed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      Communicator own;
      while (!done) {
        Costs asked = own.ask();
        bool whole =
            (asked.taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL} && asked.channels == 1) ||
            (asked.taken() == Taken{NCCL_ALGO_RING, NCCL_PROTO_LL128} && asked.channels == 2);
        mixed += whole ? 0 : 1;
      }
    });
  for (int i = 0; i < 20'000; ++i)
    choose(i % 2 == 0 ? other : one);
  done = true;
  for (auto& thread : threads)
    thread.join();
  CHECK(mixed == 0);
  choose({});
}

TEST_CASE("every interface reaches the same choice") {
  choose({.algorithm = Algorithm::tree, .protocol = Protocol::ll, .channels = 5});
  Costs v3, v4, v5;
  void* context = nullptr;
  auto& third = tuner<ncclTuner_v3_t>("ncclTunerPlugin_v3");
  REQUIRE(third.init(8, 1, nullptr, &context) == 0);
  CHECK(third.getCollInfo(context, ncclFuncAllReduce, 99, 1, v3.table(), 7, 3, &v3.channels) == 0);
  CHECK(tuner_interface() == 3);
  CHECK(third.destroy(context) == 0);
  auto& fourth = tuner<ncclTuner_v4_t>("ncclTunerPlugin_v4");
  REQUIRE(fourth.init(8, 1, nullptr, &context) == 0);
  CHECK(fourth.getCollInfo(context, 4, 99, 1, v4.table(), 7, 3, 1, &v4.channels) == 0);
  CHECK(fourth.destroy(context) == 0);
  auto& fifth = tuner<ncclTuner_v5_t>("ncclTunerPlugin_v5");
  REQUIRE(fifth.init(&context, 1, 8, 1, nullptr, nullptr, nullptr) == 0);
  CHECK(fifth.getCollInfo(context, 4, 99, 1, v5.table(), 7, 3, 1, &v5.channels) == 0);
  CHECK(fifth.finalize(context) == 0);
  for (const Costs& costs : {v3, v4, v5}) {
    CHECK(costs.taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL});
    CHECK(costs.channels == 5);
  }
  CHECK(tuner<ncclTuner_v6_t>("ncclTunerPlugin_v6").getChunkSize == nullptr);
  choose({});
}

TEST_CASE("an old NCCL without the chosen algorithm keeps its own") {
  Communicator communicator;
  choose({.algorithm = Algorithm::pat, .channels = 5});
  auto& sixth = tuner<ncclTuner_v6_t>("ncclTunerPlugin_v6");
  void* context = nullptr;
  REQUIRE(sixth.init(&context, 1, 8, 1, nullptr, nullptr, nullptr) == 0);
  float costs[6][3] = {{1, 2, 3}, {4, 5, 6}};
  int channels = 0;
  CHECK(sixth.getCollInfo(context, 4, 8, 1, reinterpret_cast<float**>(costs), 6, 3, 0, &channels) ==
        0);
  CHECK(channels == 0);
  CHECK(costs[0][0] == 1);
  sixth.finalize(context);
  choose({});
}

TEST_CASE("the NVLink domains that NCCL gives are told once for each shape of communicators") {
  Communicator first, same;
  auto has = [](const char* line) {
    const auto lines = communicator_lines();
    return std::count(lines.begin(), lines.end(), line);
  };
  CHECK(has("communicator nRanks 8 nNodes 1 nvlDomains 1 of 8 to 8 ranks") == 1);

  auto& old = tuner<ncclTuner_v4_t>("ncclTunerPlugin_v4"); // gives no domains
  void* context = nullptr;
  const std::size_t before = communicator_lines().size();
  REQUIRE(old.init(24, 3, nullptr, &context) == 0);
  old.destroy(context);
  CHECK(communicator_lines().size() == before);
}
