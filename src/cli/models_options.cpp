// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/models_options.h"

#include "base/units.h"
#include "cli/common_options.h"
#include "model/parse_enum.h"

#include <CLI/CLI.hpp>

namespace ncclprobe::cli {
namespace {

using base::Result;

constexpr const char* k_footer = R"(Examples:
  ncclprobe models                           the catalogue
  ncclprobe models gpt2-124m                 its layers: parameters, products of the forward pass
  ncclprobe models llama3-70b:4              four of its blocks, with embedding and head
  ncclprobe models linear:4096x16            sixteen Linear(4096, 4096) with bias
  ncclprobe models resnet50 --buckets        which gradients PyTorch's DDP reduces together
  ncclprobe models gpt2-124m --buckets --type bf16 --bucket-cap 100M
  ncclprobe models bert-base --format json -o net.json    a model's file, to be changed
  ncclprobe models net.json                  a model of one's own; examples/write_model.py writes one

Buckets: rebuilt (from the second step on), first-step (the first one, all at once), registered
(every step with find_unused_parameters). A bucket cap that is given holds for the first bucket too,
as in PyTorch.

Exit codes: 0 done, 1 defect of ncclprobe, 2 bad arguments or input file, 7 the output could not be
  written)";

template <typename T>
TakeText one_of(const char* what, T& into) {
  return [what, &into](const std::string& text) -> Result<void> {
    NCCLPROBE_TRY_ASSIGN(into, model::parse_enum<T>(text, what));
    return {};
  };
}

} // namespace

void declare_models_options(CLI::App& app, ModelsOptions& options) {
  app.footer(k_footer);
  CLI::Option* name =
      app.add_option("model", options.model, "A model of the catalogue, or a file (.json, .toml)")
          ->type_name("MODEL");
  app.add_option("--format,-f", options.format, "table (default), json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  add_text_file(app, options.output);
  app.add_option("--sequence", options.sequence, "Tokens of a sample")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30))
      ->needs(name);
  app.add_option("--layers", options.blocks, "Only so many of the repeated blocks")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(name);
  CLI::Option* buckets = app.add_flag("--buckets", options.buckets,
                                      "The buckets of gradients that PyTorch's DDP makes")
                             ->needs(name);
  add_text(app, "--bucket-cap", "SIZE", "bucket_cap_mb; default: 25M, and 1M for the first bucket",
           [&options](const std::string& text) -> Result<void> {
             NCCLPROBE_TRY_ASSIGN(const std::uint64_t bytes, base::parse_bytes(text));
             if (bytes == 0)
               return base::fail(base::Errc::invalid_argument, "a bucket holds at least a byte");
             options.bucket_bytes = bytes;
             return {};
           })
      ->needs(buckets);
  add_text(app, "--order", "ORDER", "rebuilt (default), first-step, registered",
           one_of("choice of order", options.order))
      ->needs(buckets);
  add_text(app, "--type", "TYPE", "Data type of the gradients: f32 (default), bf16, ...",
           one_of("data type", options.type))
      ->needs(buckets);
}

} // namespace ncclprobe::cli
