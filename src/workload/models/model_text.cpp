// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/model_text.h"

#include "base/text_table.h"
#include "workload/models/catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace ncclprobe::workload {
namespace {

using base::TextTable;
using nlohmann::ordered_json;
using enum base::TextTable::Align;

// "25,557,032"
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;)
    text.insert(at -= 3, 1, ',');
  return text;
}

std::string billions(std::uint64_t flops) {
  const double value = static_cast<double>(flops) / 1e9;
  return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 1000 ? 1 : 0);
}

// Zero stands for none.
std::string number_or_dash(std::uint64_t number) {
  return number > 0 ? std::to_string(number) : "-";
}

std::uint64_t parameters_of(const Layer& layer) {
  std::uint64_t sum = 0;
  for (const Parameter& one : layer.parameters)
    sum += one.elements;
  return sum;
}

// "1024x2304x768": rows, n and k; "12 of 1024x1024x64" for those of activations.
std::string products_of(const Layer& layer) {
  std::string text;
  for (const Product& one : layer.products) {
    if (!text.empty())
      text += ", ";
    if (one.count > 1)
      text += fmt::format("{} of ", one.count);
    text += fmt::format("{}x{}x{}", one.rows, one.n, one.k);
  }
  return text;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / (1 << 20));
}

std::uint64_t bytes_of(const DdpBucket& bucket, const DdpOptions& options) {
  return bucket.elements * model::size_bytes(options.type);
}

// As many gradient names as fit into 100 columns.
constexpr std::size_t k_most_beside = 70;

const std::string& first_of(const ModelSpec& spec, const DdpBucket& bucket) {
  return parameter_at(spec, bucket.parameters.front()).name;
}

const std::string& last_of(const ModelSpec& spec, const DdpBucket& bucket) {
  return parameter_at(spec, bucket.parameters.back()).name;
}

ModelSpec made(const KnownModel& known) {
  return base::value_or_throw(make_model(known.name));
}

} // namespace

std::string render_known_models() {
  TextTable table(
      {{"model", left}, {"parameters"}, {"blocks"}, {"sequence"}, {"GFLOP"}, {"what it is", left}});
  for (const KnownModel& known : known_models())
    table.add_row({known.name, with_commas(known.parameters),
                   number_or_dash(static_cast<std::uint64_t>(known.blocks)),
                   number_or_dash(known.sequence), billions(made(known).forward_flops()),
                   known.about});
  table.add_row(
      {"linear:WIDTHxDEPTH", "", "", "", "", "DEPTH times Linear(WIDTH, WIDTH) with bias"});
  return table.render() +
         "NAME:N has N blocks of the model. GFLOP: products of one sample's forward pass.\n";
}

std::string write_known_models_json() {
  ordered_json models = ordered_json::array();
  for (const KnownModel& known : known_models())
    models.push_back({{"name", known.name},
                      {"about", known.about},
                      {"parameters", known.parameters},
                      {"parameters_source", known.source},
                      {"sequence", known.sequence},
                      {"blocks", known.blocks},
                      {"forward_flops", made(known).forward_flops()}});
  return ordered_json{{"models", std::move(models)}}.dump(1) + "\n";
}

std::string render_model(const ModelSpec& spec) {
  std::string text =
      fmt::format("{}: {} parameters, {} GFLOP in a sample's forward pass", spec.name,
                  with_commas(spec.parameter_count()), billions(spec.forward_flops()));
  if (spec.sequence > 0)
    text += fmt::format(" of {} tokens", spec.sequence);
  TextTable table({{"layer", left}, {"kind", left}, {"block"}, {"parameters"}, {"output"}});
  for (const Layer& layer : spec.layers)
    table.add_row({layer.name, std::string(base::to_string(layer.kind)),
                   layer.block < 0 ? "-" : std::to_string(layer.block),
                   with_commas(parameters_of(layer)), with_commas(layer.output_elements)});
  // Products do not fit into a column: they are listed below their layer.
  std::istringstream lines(table.render());
  std::string line;
  std::getline(lines, line);
  text += fmt::format("\n{}\n", line);
  for (const Layer& layer : spec.layers) {
    std::getline(lines, line);
    text += line + "\n";
    if (!layer.products.empty())
      text += fmt::format("    {}\n", products_of(layer));
  }
  return text + "Below layers: their products, rows x n x k.\n";
}

std::string render_ddp_buckets(const ModelSpec& spec, const DdpOptions& options) {
  const std::vector<DdpBucket> buckets = ddp_buckets(spec, options);
  std::string text = fmt::format("{}: {} DDP bucket{} of {} gradients, {}", spec.name,
                                 buckets.size(), buckets.size() == 1 ? "" : "s",
                                 base::to_string(options.type), base::to_string(options.order));
  if (options.order != BucketOrder::first_step)
    text += fmt::format(", limits {} and {} MiB", mebibytes(options.first_bucket_bytes),
                        mebibytes(options.bucket_bytes));
  std::size_t widest_first = 0, widest_last = 0;
  for (const DdpBucket& bucket : buckets) {
    widest_first = std::max(widest_first, first_of(spec, bucket).size());
    widest_last = std::max(widest_last, last_of(spec, bucket).size());
  }
  const bool below = widest_first + widest_last > k_most_beside;
  std::vector<TextTable::Column> columns{{"bucket"}, {"MiB"}, {"gradients"}};
  if (below)
    columns.push_back({"first, and last below", left});
  else
    columns.insert(columns.end(), {{"first", left}, {"last", left}});
  TextTable table(columns);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    std::vector<std::string> cells{std::to_string(i), mebibytes(bytes_of(buckets[i], options)),
                                   std::to_string(buckets[i].parameters.size()),
                                   first_of(spec, buckets[i])};
    if (!below)
      cells.push_back(last_of(spec, buckets[i]));
    table.add_row(std::move(cells));
    if (below && buckets[i].parameters.size() > 1)
      table.add_row({"", "", "", last_of(spec, buckets[i])});
  }
  return text + "\n" + table.render();
}

std::string write_ddp_buckets_json(const ModelSpec& spec, const DdpOptions& options) {
  ordered_json buckets = ordered_json::array();
  for (const DdpBucket& bucket : ddp_buckets(spec, options)) {
    ordered_json names = ordered_json::array();
    for (ParameterAt at : bucket.parameters)
      names.push_back(parameter_at(spec, at).name);
    buckets.push_back({{"elements", bucket.elements},
                       {"bytes", bytes_of(bucket, options)},
                       {"completed_by", spec.layers[bucket.completed_by_layer].name},
                       {"parameters", std::move(names)}});
  }
  return ordered_json{{"model", spec.name},
                      {"order", std::string(base::to_string(options.order))},
                      {"type", std::string(base::to_string(options.type))},
                      {"first_bucket_bytes", options.first_bucket_bytes},
                      {"bucket_bytes", options.bucket_bytes},
                      {"buckets", std::move(buckets)}}
             .dump(1) +
         "\n";
}

} // namespace ncclprobe::workload
