// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/node_type.h"
#include "analysis/results/power.h"
#include "analysis/statistics/inference.h"
#include "analysis/steps/break_even.h"
#include "analysis/steps/scaling.h"
#include "base/enum_names.h"
#include "workload/step_request.h"

#include <optional>
#include <string>
#include <vector>

// One workload on one type of node.
namespace ncclprobe::analysis::procure {

// Where a figure comes from.
enum class Origin {
  measured,
  predicted, // by the cost model, from other steps of the node's runs
  published, // by the cost model, from published or stated rates
  synthetic, // of runs of the synthetic backend, whether measured there or predicted from them
  unknown
};

struct Bounds {
  double low = 0;
  std::optional<double> high; // absent: no limit is known
};
// [low, high] in units of `unit`, of six digits; null if absent.
Value range_value(const std::optional<Bounds>& range, double unit = 1);

// A sample unit: one process, or all processes of a run if the node has k_least_runs runs.
inline constexpr std::size_t k_least_runs = 3;
struct Observation {
  double step_ns = 0;
  std::optional<double> gpus_w; // of all GPUs of the step together; absent: not read
  PowerSource power_source = PowerSource::energy_counter;
};
// Where the power of a step's GPUs comes from.
enum class PowerOrigin { energy_counter, power_readings, published, unknown };

struct StepFigure {
  Origin origin = Origin::unknown;
  std::string source;      // of the time: "2 runs, 20 processes"
  std::string why_unknown; // the time
  bool synthetic = false;  // of a node with such runs, even if the time is unknown
  int ranks = 0;
  double samples = 0;                           // of one step
  std::string step;                             // as the run describes it
  std::optional<workload::StepRequest> request; // absent: the model is not known by its name

  bool between_runs = false; // observations are runs
  std::vector<Observation> observations;
  std::optional<double> step_ns;  // absent for published figures, which only have a range
  std::optional<Bounds> range_ns; // measured: 95%; predicted: that of the prediction
  std::optional<Bounds> gpus_w;   // of all its GPUs together
  PowerOrigin power_source = PowerOrigin::unknown;

  std::optional<double> efficiency; // against fewer ranks
  std::optional<Bounds> efficiency_range;
  std::string loss; // "of the 8.8% lost, 5.1 is uncovered transfer, ..."
  std::optional<steps::LossAccount> account;
  std::optional<double> exposed; // uncovered communication, share of the step
  std::optional<Bounds> exposed_range;
  std::optional<steps::BoundBy> bound_by;
  std::vector<std::string> notes; // figures that are not known, or only as limits
};

// Whether any of its runs is of the synthetic backend.
bool is_synthetic(const NodeType& node);

// Errors become `why_unknown`.
StepFigure step_figure(const NodeType& node, const Workload& workload);

} // namespace ncclprobe::analysis::procure
