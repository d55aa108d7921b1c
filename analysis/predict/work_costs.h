// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/step_program.h"
#include "analysis/predict/work_growth.h"
#include "analysis/steps/step_results.h"
#include "model/run.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::analysis::cost_model {

// The durations of a program's work.
struct WorkTimes {
  std::vector<double> ns;            // by work
  std::set<model::Activity> unknown; // their time is unknown and counts as zero
  // Half width (95%) of their sum, for operations with more or less work than the measured ones.
  double size_error_ns = 0;
  // The part of their sum whose size has an unknown error.
  double untold_ns = 0;
};

// How long ranks take for their own work. A measured stretch takes its measured time, any other
// follows its activity's rate; another size follows the growth of its activity.
class WorkCosts {
public:
  // How long each stretch of a measured step took: median over steps, over equal ranks, then over
  // processes. `program` comes from the same schedule. Before learn_growth(), times are
  // proportional to the work.
  static WorkCosts measured(const model::Run& run, const steps::StepResult& result,
                            const StepProgram& program);
  // The same step on one number of ranks: whole, and without communication.
  struct Measured {
    int ranks = 0;
    const WorkCosts* whole = nullptr;
    const WorkCosts* alone = nullptr;
  };
  // From steps by ranks; the last one is this step.
  void learn_growth(const std::vector<Measured>& steps);
  void set_rate(model::Activity activity, Work::Kind kind, double ns_per_unit);
  // Rates of products hold down to the mean sizes in these programs; smaller ones are unknown.
  void learn_least_products(const StepProgram& program);
  // Copies rates from `other` that are missing here, but no times of its stretches.
  void take_rates(const WorkCosts& other);
  std::optional<double> rate(model::Activity activity, Work::Kind kind) const;

  // Error of another model's products: how far the rates of stretches with different amounts of
  // work are from their activity's rate.
  struct Deviation {
    double amount = 0;    // number of products in such a stretch
    double log_ratio = 0; // ratio of its rate to the activity's
    double time_ns = 0;   // number of all such stretches
  };
  std::vector<Deviation> product_deviations(model::Activity activity) const;

  WorkTimes of(const StepProgram& program) const;

private:
  using What = std::pair<model::Activity, Work::Kind>;
  struct Stretch {
    Work::Kind kind = Work::Kind::product;
    double amount = 0;
    double time_ns = 0;
    model::Activity activity = model::Activity::note;
    int operations = 0;
  };
  struct Sum { // of all stretches of an activity and kind
    double amount = 0;
    double time_ns = 0;
    int operations = 0;
    std::map<int, double> process_ns; // by trial
  };
  bool alike_ = false; // stretches are the same in every program in which all ranks do the same
  std::map<std::string, Stretch> stretches_;
  std::map<What, Sum> sums_;
  std::map<What, double> rates_; // ns per unit
  std::map<What, WorkGrowth> growth_;
  std::map<What, double> least_; // of one operation, for which rates are known to hold
};

} // namespace ncclprobe::analysis::cost_model
