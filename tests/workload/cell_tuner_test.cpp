// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/cell_tuner.h"

using namespace ncclprobe;

TEST_CASE("only trials whose cells have settings ask the worker's tuner") {
  auto asks = [](const std::string& backend, bool with_settings,
                 const std::map<std::string, std::string>& environment = {},
                 std::vector<model::Setting> own = {}) {
    model::TrialSpec trial;
    trial.backend = backend;
    trial.process.common = std::move(own);
    trial.cells.resize(2);
    if (with_settings)
      trial.cells[1].settings = {{"algorithm", "Ring"}};
    workload::ask_for_tuner(trial, environment);
    return trial.instruments == std::vector<model::Setting>{{"NCCL_TUNER_PLUGIN", "STATIC_PLUGIN"}};
  };
  CHECK(asks("nvidia", true));
  CHECK_FALSE(asks("nvidia", false));
  CHECK_FALSE(asks("host", true));
  CHECK_FALSE(asks("nvidia", true, {{"NCCL_TUNER_PLUGIN", "none"}}));
  CHECK_FALSE(asks("nvidia", true, {}, {{"NCCL_TUNER_PLUGIN", "/opt/libother.so"}}));
}

TEST_CASE("a trial without settings of cells gets the worker's tuner only to learn the shapes") {
  model::TrialSpec trial;
  trial.backend = "nvidia";
  workload::add_tuner(trial, {{"NCCL_TUNER_PLUGIN", "none"}});
  CHECK(trial.instruments.empty());

  workload::add_tuner(trial, {});
  CHECK(trial.instruments == std::vector<model::Setting>{{"NCCL_TUNER_PLUGIN", "STATIC_PLUGIN"}});
}
