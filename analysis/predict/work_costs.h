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

// How long the works of a program take.
struct WorkTimes {
  std::vector<double> ns;            // by work
  std::set<model::Activity> unknown; // nothing is known of them: they take no time
  // Half width (95%) of their sum, as operations do more or less than where they were measured.
  double size_error_ns = 0;
  // Of their sum, what is of a size whose time nobody knows the error of.
  double untold_ns = 0;
};

// How long ranks take for what they do by themselves: a stretch that was measured as long as it
// took there, any other by the rate of its activity; of another size as its activity grows.
class WorkCosts {
public:
  // How long each stretch of a measured step took: the median over steps, and over ranks that are
  // alike, of this the median over processes. `program` is made from the same schedule. Until
  // learn_growth(), times are in proportion to the work.
  static WorkCosts measured(const model::Run& run, const steps::StepResult& result,
                            const StepProgram& program);
  // The same step on one number of ranks: whole, and without communication.
  struct Measured {
    int ranks = 0;
    const WorkCosts* whole = nullptr;
    const WorkCosts* alone = nullptr;
  };
  // From steps by ranks, of which the last is this one.
  void learn_growth(const std::vector<Measured>& steps);
  void set_rate(model::Activity activity, Work::Kind kind, double ns_per_unit);
  // Rates of products hold down to the mean sizes in these programs; any smaller are untold.
  void learn_least_products(const StepProgram& program);
  // Those of `other` that are not known here; no times of its stretches.
  void take_rates(const WorkCosts& other);
  std::optional<double> rate(model::Activity activity, Work::Kind kind) const;

  // What another model's products may be off by: how far the rates of stretches that compute
  // another amount each lie from the rate of their activity.
  struct Deviation {
    double amount = 0;    // of products in such a stretch
    double log_ratio = 0; // of its rate to the activity's
    double time_ns = 0;   // of all such stretches
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
  std::map<What, double> least_; // of one operation, that rates are known to hold for
};

} // namespace ncclprobe::analysis::cost_model
