// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/procure/nodes_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"
#include "launch/cli/common/toml_options.h"

namespace ncclprobe::cli {
namespace {

using analysis::procure::NodeType;
using analysis::procure::PublishedRate;
using analysis::procure::Workload;

constexpr int k_most_gpus = 1024;

// "24-65": the worst and the best; "65": the best alone. In units of `unit`.
Words<PublishedRate> rate_words(double unit) {
  return {[unit](const std::string& text) -> Result<PublishedRate> {
            const std::size_t dash = text.find('-');
            NCCLPROBE_TRY_ASSIGN(const double first, amount_words().read(text.substr(0, dash)));
            if (dash == std::string::npos)
              return PublishedRate{.best = first * unit, .worst = {}, .source = {}};
            NCCLPROBE_TRY_ASSIGN(const double best, amount_words().read(text.substr(dash + 1)));
            if (best < first)
              return fail(Errc::invalid_argument,
                          "'{}' must be the worst rate and the best, such as 24-65", text);
            return PublishedRate{.best = best * unit, .worst = first * unit, .source = {}};
          },
          [unit](const PublishedRate& rate) {
            return rate.worst ? fmt::format("{}-{}", *rate.worst / unit, rate.best / unit)
                              : fmt::format("{}", rate.best / unit);
          },
          "24-65"};
}

// A [[node]] as it is written.
struct WrittenNode {
  std::string name, gpu;
  std::optional<int> gpus;
  std::vector<std::string> runs;
  std::string setting;
  bool published = false;
  analysis::procure::Price price;
  std::optional<double> years, utilisation, pue;
  std::optional<PublishedRate> tflops, bus, memory;
  std::optional<double> latency_us;
  std::string tflops_source, bus_source, memory_source, latency_source;
};

Words<double> from_one_words() {
  return such_that<double>(
      amount_words(), [](const double& value) { return value >= 1; },
      "give 1 or more, such as 1.3");
}

Words<double> part_of_one_words() {
  return such_that<double>(
      amount_words(), [](const double& value) { return value <= 1; },
      "give a share from 0 to 1, such as 0.7");
}

Options node_keys(WrittenNode& into) {
  return {
      option("name", "TEXT", into.name, text_words("T4 node"), "What reports call it"),
      option("gpu", "NAME", into.gpu, text_words("T4"), "Model of its GPUs"),
      option("gpus", "N", into.gpus, number_words(1, k_most_gpus), "GPUs of a node"),
      repeated("runs", "FILE", into.runs, text_words("node.h5"), "Run files of such nodes"),
      option("setting", "NAME", into.setting, text_words("NCCL_P2P_DISABLE=1"),
             "The setting of its runs that stands for it"),
      option("published", "on|off", into.published, on_off_words(), "Nothing was measured"),
      option("price-per-hour", "N", into.price.per_hour, amount_words(), "Rent of a node"),
      option("purchase", "N", into.price.purchase, amount_words(), "Price of a node"),
      option("years", "N", into.years, amount_words(), "Until a purchase is written off"),
      option("utilisation", "N", into.utilisation, part_of_one_words(),
             "Share of these years in which it computes"),
      option("power-price-per-kwh", "N", into.price.per_kwh, amount_words(), "Price of power"),
      option("pue", "N", into.pue, from_one_words(), "Power of the site / of its computers"),
      option("other-w", "N", into.price.other_w, amount_words(), "Power of a node without GPUs"),
      option("tflops", "RANGE", into.tflops, rate_words(1e12), "Rate of matrix products of a GPU"),
      option("tflops-source", "TEXT", into.tflops_source, text_words("data sheet"), "Its source"),
      option("bus-gb-per-s", "RANGE", into.bus, rate_words(1), "busbw of collectives"),
      option("bus-source", "TEXT", into.bus_source, text_words("data sheet"), "Its source"),
      option("memory-gb-per-s", "RANGE", into.memory, rate_words(1), "Rate of a GPU's memory"),
      option("memory-source", "TEXT", into.memory_source, text_words("data sheet"), "Its source"),
      option("latency-us", "N", into.latency_us, amount_words(), "Of a collective, at most"),
      option("latency-source", "TEXT", into.latency_source, text_words("issue"), "Its source"),
  };
}

base::Error wrong(std::string what, std::string hint) {
  return {Errc::invalid_argument, std::move(what), std::move(hint)};
}

Result<void> check_origin(const WrittenNode& one) {
  const bool has_rates = one.tflops || one.bus || one.memory || one.latency_us;
  if (one.runs.empty() == !one.published)
    return fail(one.published ? wrong(fmt::format("node '{}' has runs, and is published", one.name),
                                      "delete one: published is for nodes that nobody measured")
                              : wrong(fmt::format("node '{}' has neither runs nor published = true",
                                                  one.name),
                                      "give its run files, such as runs = [\"node.h5\"]"));
  if (one.published && (one.gpu.empty() || !one.gpus))
    return fail(wrong(fmt::format("node '{}' is published, so it needs gpu and gpus", one.name),
                      "for example gpu = \"T4\" and gpus = 4"));
  if (!one.published && has_rates)
    return fail(wrong(fmt::format("node '{}' has runs, so no rates are stated for it", one.name),
                      "delete tflops, bus_gb_per_s, memory_gb_per_s and latency_us"));
  if (one.published && !one.setting.empty())
    return fail(
        wrong(fmt::format("node '{}' has a setting, but no runs", one.name), "delete setting"));
  return {};
}

Result<void> check_price(const WrittenNode& one) {
  if (one.price.per_hour && one.price.purchase)
    return fail(wrong(fmt::format("node '{}' has price_per_hour and purchase", one.name),
                      "give the price that you would pay"));
  if (one.price.purchase && !one.years)
    return fail(wrong(fmt::format("node '{}' has purchase without years", one.name),
                      "say when it is written off, such as years = 4"));
  if (!one.price.purchase && (one.years || one.utilisation))
    return fail(wrong(fmt::format("node '{}' has years or utilisation without purchase", one.name),
                      "give purchase, or delete them"));
  return {};
}

PublishedRate with_source(PublishedRate rate, const std::string& source) {
  rate.source = source;
  return rate;
}

class Reader {
public:
  explicit Reader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::vector<TomlTables> tables() {
    return {{"node", [this] { return node_keys(node_ = {}); },
             [this](const std::string& place) { return finish_node(place); }},
            {"workload", [this] { return workload_keys(); },
             [this](const std::string& place) { return finish_workload(place); }}};
  }
  NodesFile take() { return std::move(file_); }

private:
  Options workload_keys() {
    workload_ = {};
    step_.clear();
    return {option("step", "NAME", step_, text_words("ddp:gpt2-124m"), "Pattern and model"),
            option("weight", "N", workload_.weight, amount_words(), "Share of the samples"),
            option("ranks", "N", workload_.ranks, number_words(1, k_most_gpus), "Of a step"),
            option("batch", "N", workload_.batch,
                   number_words<std::uint64_t>(1, std::uint64_t{1} << 20), "Samples per replica"),
            option("sequence", "N", workload_.sequence,
                   number_words<std::uint64_t>(1, std::uint64_t{1} << 20), "Tokens per sample"),
            option("type", "NAME", workload_.type, name_words<model::StepType>("type"),
                   "Of parameters and products: {}")};
  }

  Result<void> finish_node(const std::string& place) {
    if (node_.name.empty())
      return fail(wrong("a node has no name", "give it one, such as name = \"T4 node\""));
    if (std::ranges::find(file_.nodes, node_.name, &NodeType::name) != file_.nodes.end())
      return fail(wrong(fmt::format("two nodes are called '{}'", node_.name), "rename one"));
    NCCLPROBE_TRY(check_origin(node_));
    NCCLPROBE_TRY(check_price(node_));
    NodeType node{.name = node_.name,
                  .price = node_.price,
                  .setting = node_.setting,
                  .published = node_.published,
                  .place = place};
    if (!node_.gpu.empty()) {
      NCCLPROBE_TRY_ASSIGN(node.gpu, analysis::gpu_in_question(node_.gpu));
    }
    node.gpu.count = node_.gpus.value_or(0); // 0: as its runs have
    node.price.years = node_.years.value_or(0);
    node.price.utilisation = node_.utilisation.value_or(1);
    node.price.pue = node_.pue.value_or(1);
    for (const std::string& run : node_.runs)
      node.files.push_back((folder_ / run).string());
    if (node_.tflops)
      node.rates.flops_per_s = with_source(*node_.tflops, node_.tflops_source);
    if (node_.bus)
      node.rates.bus_gb_per_s = with_source(*node_.bus, node_.bus_source);
    if (node_.memory)
      node.rates.memory_gb_per_s = with_source(*node_.memory, node_.memory_source);
    if (node_.latency_us)
      node.rates.most_latency_ns = *node_.latency_us * 1e3;
    node.rates.latency_source = node_.latency_source;
    file_.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> finish_workload(const std::string& place) {
    const std::size_t colon = step_.find(':');
    if (colon == std::string::npos || colon + 1 == step_.size())
      return fail(wrong(step_.empty() ? "a workload has no step"
                                      : fmt::format("'{}' is not a pattern and a model", step_),
                        "for example step = \"ddp:gpt2-124m\""));
    NCCLPROBE_TRY_ASSIGN(workload_.pattern,
                         model::parse_enum<model::StepPattern>(step_.substr(0, colon), "pattern"));
    workload_.model = step_.substr(colon + 1);
    workload_.place = place;
    file_.workloads.push_back(workload_);
    return {};
  }

  std::filesystem::path folder_;
  NodesFile file_;
  WrittenNode node_;
  Workload workload_;
  std::string step_;
};

} // namespace

Result<NodesFile> read_nodes_file(const std::filesystem::path& file) {
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file, base::k_most_toml_bytes));
  Reader reader(file.parent_path());
  NCCLPROBE_TRY(read_toml_options(text, file.string(), {}, reader.tables()));
  NodesFile read = reader.take();
  if (read.nodes.empty() || read.workloads.empty())
    return fail(wrong(fmt::format("{}: it has no [[{}]]", file.string(),
                                  read.nodes.empty() ? "node" : "workload"),
                      "examples/nodes.toml shows both"));
  return read;
}

} // namespace ncclprobe::cli
