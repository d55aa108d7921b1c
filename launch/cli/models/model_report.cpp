// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/models/model_report.h"

#include "base/text_layout.h"
#include "workload/models/catalogue.h"

namespace ncclprobe::cli {
namespace {

using namespace analysis;
using workload::DdpBucket;
using workload::KnownModel;
using workload::Layer;

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
template <typename T>
Value number_or_none(T number) {
  return number > 0 ? Value(number) : Value();
}

std::uint64_t parameters_of(const Layer& layer) {
  std::uint64_t sum = 0;
  for (const workload::Parameter& one : layer.parameters)
    sum += one.elements;
  return sum;
}

// "1024x2304x768": rows, n and k; "12 of 1024x1024x64" for those of activations.
std::vector<std::string> products_of(const Layer& layer) {
  std::vector<std::string> texts;
  for (const workload::Product& one : layer.products)
    texts.push_back((one.count > 1 ? fmt::format("{} of ", one.count) : "") +
                    fmt::format("{}x{}x{}", one.rows, one.n, one.k));
  return texts;
}

struct NumberedBucket : DdpBucket {
  std::size_t number = 0; // from 0, in the order in which they are reduced
};

std::vector<NumberedBucket> numbered(const std::vector<DdpBucket>& buckets) {
  std::vector<NumberedBucket> all;
  for (const DdpBucket& one : buckets)
    all.push_back({one, all.size()});
  return all;
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / (1 << 20));
}

} // namespace

Report known_models_report() {
  TableOf<KnownModel> table(workload::known_models());
  auto flops = [](const KnownModel& one) {
    return base::value_or_throw(workload::make_model(one.name)).forward_flops();
  };
  table.add("name", &KnownModel::name).titled("model").left();
  table.add("parameters", &KnownModel::parameters);
  table.show("parameters", [](const KnownModel& one) { return with_commas(one.parameters); });
  table.add("parameters_source", &KnownModel::source);
  table.add("blocks", &KnownModel::blocks);
  table.show("blocks", [](const KnownModel& one) { return number_or_none(one.blocks); });
  table.add("sequence", &KnownModel::sequence);
  table.show("sequence", [](const KnownModel& one) { return number_or_none(one.sequence); });
  table.add("forward_flops", flops);
  table.show("GFLOP", [=](const KnownModel& one) { return billions(flops(one)); });
  table.add("about", &KnownModel::about).titled("what it is").left();
  Section section{"models", "", {View{.table = table.table(), .indent = 0}}};
  section.add(
      "",
      "linear:WIDTHxDEPTH is DEPTH times Linear(WIDTH, WIDTH) with bias. NAME:N has N "
      "blocks of the model. GFLOP: products of one sample's forward pass. Classes without a "
      "library are those of Hugging Face transformers 4. The 26 embedding tables of dlrm "
      "(Criteo Terabyte, width 128) are spread over the ranks.",
      0);
  return {
      .sections = {std::move(section)}, .data = {{"models", table.table()}}, .rows = table.table()};
}

Report model_report(const workload::ModelSpec& spec) {
  TableOf<Layer> table(spec.layers);
  table.add("layer", &Layer::name).titled("layer").left();
  table.add("kind", &Layer::kind).titled("kind").left();
  table.add("block", [](const Layer& one) { return one.block < 0 ? Value() : Value(one.block); })
      .titled("block");
  table.add("parameters", parameters_of);
  table.show("parameters", [](const Layer& one) { return with_commas(parameters_of(one)); });
  table.add("output_elements", &Layer::output_elements);
  table.show("output", [](const Layer& one) { return with_commas(one.output_elements); });
  table.add("products", products_of).titled("products (rows x n x k)").left();
  const std::string of_tokens =
      spec.sequence > 0 ? fmt::format(" of {} tokens", spec.sequence) : "";
  return {.sections = {{"layers",
                        fmt::format("{}: {} parameters, {} GFLOP in a sample's forward pass{}",
                                    spec.name, with_commas(spec.parameter_count()),
                                    billions(spec.forward_flops()), of_tokens),
                        {View{.table = table.table(), .indent = 0}}}},
          .rows = table.table()};
}

Report ddp_buckets_report(const workload::ModelSpec& spec, const workload::DdpOptions& options) {
  TableOf<NumberedBucket> table(numbered(ddp_buckets(spec, options)));
  auto bytes = [size = model::size_bytes(options.type)](const DdpBucket& one) {
    return one.elements * size;
  };
  auto name_at = [&spec](workload::ParameterAt at) { return parameter_at(spec, at).name; };
  auto names = [name_at](const DdpBucket& one) {
    std::vector<std::string> all;
    for (workload::ParameterAt at : one.parameters)
      all.push_back(name_at(at));
    return all;
  };
  table.show("bucket", &NumberedBucket::number);
  table.add("elements", &DdpBucket::elements);
  table.add("bytes", bytes);
  table.show("MiB", [=](const DdpBucket& one) { return mebibytes(bytes(one)); });
  table.add("completed_by",
            [&spec](const DdpBucket& one) { return spec.layers[one.completed_by_layer].name; });
  table.add("parameters", names);
  table.show("gradients", [](const DdpBucket& one) { return one.parameters.size(); });
  table.show_left("first and last", [=](const DdpBucket& one) {
    return name_at(one.parameters.front()) + " " + name_at(one.parameters.back());
  });
  std::string title = fmt::format("{}: {} of {} gradients, {}", spec.name,
                                  base::count_of(table.rows().size(), "DDP bucket", "DDP buckets"),
                                  base::to_string(options.type), base::to_string(options.order));
  if (options.order != workload::BucketOrder::first_step)
    title += fmt::format(", limits {} and {} MiB", mebibytes(options.first_bucket_bytes),
                         mebibytes(options.bucket_bytes));
  return {.sections = {{"buckets", std::move(title), {View{.table = table.table(), .indent = 0}}}},
          .data = {{"model", spec.name},
                   {"order", options.order},
                   {"type", options.type},
                   {"first_bucket_bytes", options.first_bucket_bytes},
                   {"bucket_bytes", options.bucket_bytes},
                   {"buckets", table.table()}},
          .rows = table.table()};
}

} // namespace ncclprobe::cli
