// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/suitability.h"
#include "model/run.h"
#include "model/step_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a buyer compares: types of nodes, their prices, and the training steps that matter. Money is
// in the buyer's unit.
namespace ncclprobe::analysis::procure {

inline constexpr double k_hours_per_year = 8766; // 365.25 days

// The price of one node: rent, or purchase.
struct Price {
  std::optional<double> per_hour;
  std::optional<double> purchase;
  double years = 0;       // of purchase: until it is written off
  double utilisation = 1; // of purchase: share of those years in which it computes
  std::optional<double> per_kwh;
  double pue = 1;                // power of the data centre / power of its computers
  std::optional<double> other_w; // of a node in use, without its GPUs

  // What is paid: per hour or once; nothing without a price.
  std::optional<double> amount() const { return per_hour ? per_hour : purchase; }
  // Rent includes power, unless power has a price of its own.
  bool includes_power() const { return per_kwh || per_hour; }
  // The cost of an hour of use, for each unit of amount().
  double per_used_hour() const {
    return per_hour ? 1 : 1 / (years * k_hours_per_year * utilisation);
  }
};

// A rate that nobody measured here: the best that is published, which is a limit, and the worst to
// expect, if a source states one.
struct PublishedRate {
  double best = 0;
  std::optional<double> worst;
  std::string source;
};
struct PublishedRates {
  std::optional<PublishedRate> flops_per_s;  // of matrix products on one GPU
  std::optional<PublishedRate> bus_gb_per_s; // busbw of its collectives, as in nccl-tests
  std::optional<PublishedRate> memory_gb_per_s;
  std::optional<double> most_latency_ns; // of a collective; the least is taken as 0
  std::string latency_source;
};

struct NodeType {
  std::string name;
  GpuInQuestion gpu; // count: GPUs of a node
  Price price;
  std::vector<std::string> files; // of the runs
  std::vector<model::Run> runs;
  std::string setting;    // of the runs' settings, the one that stands for the node; empty: default
  bool published = false; // nothing was measured: published rates and the model
  PublishedRates rates;
  std::string place = {}; // where it is written, for errors: "nodes.toml:3"
};

// A step of training.
struct Workload {
  model::StepPattern pattern = model::StepPattern::ddp;
  std::string model;
  double weight = 1; // share of the samples, relative to the other workloads
  int ranks = 0;     // 0: the GPUs of a node
  // Absent: as measured.
  std::optional<std::uint64_t> batch;
  std::optional<std::uint64_t> sequence;
  std::optional<model::StepType> type;
  std::string place = {}; // as of a node

  std::string name() const; // "ddp:gpt2-124m"
};

} // namespace ncclprobe::analysis::procure
