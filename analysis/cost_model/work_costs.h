// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/step_program.h"
#include "analysis/steps/step_results.h"
#include "model/run.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::analysis::cost_model {

// How long ranks take for what they do by themselves: a stretch that was measured as long as it
// took there, in proportion to what it has to do; any other by the rate of its activity.
class WorkCosts {
public:
  // How long each stretch of a measured step took: the median over steps, and over ranks that are
  // alike, of this the median over processes. `program` is made from the same schedule.
  static WorkCosts measured(const model::Run& run, const steps::StepResult& result,
                            const StepProgram& program);
  void set_rate(model::Activity activity, Work::Kind kind, double ns_per_unit);
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

  // By work of a program. `unknown` is told of activities that nothing is known of: they take no
  // time.
  std::vector<double> of(const StepProgram& program, std::set<model::Activity>& unknown) const;

private:
  struct Stretch {
    Work::Kind kind = Work::Kind::product;
    double amount = 0;
    double time_ns = 0;
    model::Activity activity = model::Activity::note;
  };
  bool alike_ = false; // stretches are the same in every program in which all ranks do the same
  std::map<std::string, Stretch> stretches_;
  std::map<std::pair<model::Activity, Work::Kind>, double> rates_; // ns per unit
};

} // namespace ncclprobe::analysis::cost_model
