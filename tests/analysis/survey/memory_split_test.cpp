// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "analysis/survey/memory_split.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;
using What = model::MemoryUse::What;

namespace {

constexpr std::uint64_t k_mib = 1 << 20;

// Readings of a rank in MiB; negative: none.
model::TrialRecord& add_memory_trial(RunBuilder& run, std::vector<model::Setting> settings,
                                     bool prepared,
                                     std::vector<std::pair<What, std::uint64_t>> mib) {
  model::TrialRecord& trial = *run.trial(std::move(settings));
  trial.prepared = prepared;
  for (auto [what, value] : mib)
    trial.workers[1].memory.push_back({1, what, value * k_mib});
  return trial;
}

const std::vector<std::pair<What, std::uint64_t>> k_alone{{What::before, 10},
                                                          {What::opened, 510},
                                                          {What::connected, 840},
                                                          {What::finished, 2000},
                                                          {What::buffers, 256}};

} // namespace

TEST_CASE("a trial that none came before tells what its memory is for") {
  RunBuilder run(2);

  auto splits = memory_splits(add_memory_trial(run, {}, false, k_alone));

  CHECK(splits == std::vector<MemorySplit>{
                      {"default", 1, 500 * k_mib, 330 * k_mib, 256 * k_mib, 904 * k_mib}});
  CHECK(memory_text(splits) ==
        "context 500 MiB, connecting 330 MiB, buffers 256 MiB, launching 904 MiB");
}

TEST_CASE("the first readings of a prepared trial are those of the trial before it") {
  RunBuilder run(2);
  add_memory_trial(run, {}, false, k_alone);
  add_memory_trial(run, {{"NCCL_BUFFSIZE", "8388608"}}, true,
                   {{What::before, 2000},
                    {What::opened, 1300},
                    {What::connected, 900},
                    {What::finished, 3000},
                    {What::buffers, 256}});

  auto splits = memory_splits(run);

  REQUIRE(splits.size() == 2);
  CHECK(splits[0].setting == "default");
  CHECK(splits[1] == MemorySplit{"NCCL_BUFFSIZE=8388608", 1, 500 * k_mib, 390 * k_mib, 256 * k_mib,
                                 1844 * k_mib});
  auto by_itself = memory_splits(run.trials[1]);
  REQUIRE(by_itself.size() == 1);
  CHECK_FALSE(by_itself[0].context_bytes.has_value());
  CHECK_FALSE(by_itself[0].connecting_bytes.has_value());
  CHECK(by_itself[0].launching_bytes == 1844 * k_mib);
}

TEST_CASE("memory that others gave back meanwhile makes no split") {
  RunBuilder run(2);

  auto splits = memory_splits(add_memory_trial(
      run, {}, false, {{What::before, 900}, {What::opened, 500}, {What::connected, 700}}));

  REQUIRE(splits.size() == 1);
  CHECK_FALSE(splits[0].context_bytes.has_value());
  CHECK(splits[0].connecting_bytes == 200 * k_mib);
  CHECK_FALSE(splits[0].launching_bytes.has_value()); // it did not come to its end
}

TEST_CASE("reports tell the split of the default and where a setting takes another amount") {
  RunBuilder run(2);
  add_memory_trial(run, {}, false, k_alone);
  add_memory_trial(run, {{"NCCL_BUFFSIZE", "8388608"}}, true,
                   {{What::connected, 900}, {What::finished, 3000}, {What::buffers, 256}});
  add_memory_trial(run, {{"NCCL_ALGO", "Ring"}}, true,
                   {{What::connected, 840}, {What::finished, 2001}, {What::buffers, 256}});
  // Others gave memory back while it connected.
  add_memory_trial(run, {{"NCCL_PROTO", "LL"}}, true,
                   {{What::connected, 300}, {What::finished, 1460}, {What::buffers, 256}});

  std::string text = render_report(run, Format::table);
  auto json = nlohmann::json::parse(render_report(run, Format::json));

  CHECK_THAT(text, ContainsSubstring("most per device: context 500 MiB"));
  CHECK_THAT(text, ContainsSubstring("NCCL_BUFFSIZE=8388608"));
  CHECK_THAT(text, !ContainsSubstring("NCCL_ALGO=Ring"));
  CHECK_THAT(text, !ContainsSubstring("NCCL_PROTO=LL")); // unknown values do not differ
  REQUIRE(json.at("memory").size() == 4);
  CHECK(json.at("memory")[0].at("connecting_bytes") == 330 * k_mib);
  CHECK(json.at("memory")[0].at("rank") == 1);
}
