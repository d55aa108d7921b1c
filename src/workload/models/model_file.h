// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "workload/models/catalogue.h"

#include <filesystem>
#include <string>

// A user's own model, as JSON or TOML of the same keys:
//
//   name      of the model, without blanks
//   sequence  tokens per sample; omitted if it has none
//   layers    in the order of the forward pass, each with
//     name, kind (embedding, convolution, attention, mlp, experts, head, other), block,
//     output (elements per sample for the next layer), experts, experts_per_token
//     parameters  in the order of use, each with name, and shape or elements; place: where
//                 named_parameters() has it, if that is not the order of this file
//     products    each with rows, n, k, count, kind (weights, activations), input_gradient
//
// Only names and sizes of parameters are needed. Instead of layers there may be one list of
// parameters, as named_parameters() returns them; neighbours of one module then form a layer. If no
// products are given, each parameter with two dimensions makes one: its shape is [n, k] as in
// nn.Linear, its rows are the sequence (or 1).
namespace ncclprobe::workload {

// Reads .json or .toml, by the suffix. Errors: not_found, io, unsupported (another suffix);
// invalid_argument if the content is not a model, with file, place (line or path of keys) and what
// is expected there.
Result<ModelSpec> read_model_file(const std::filesystem::path& path);

Result<ModelSpec> parse_model_json(const std::string& text, const std::string& file);
Result<ModelSpec> parse_model_toml(const std::string& text, const std::string& file);

// Text that parse_model_json() reads back unchanged.
std::string write_model_json(const ModelSpec& spec);

// A name that ends in .json or .toml is a file, any other name is one of the catalogue.
bool is_model_file(const std::string& name_or_file);

// The options must not be combined with a file, which contains their values.
Result<ModelSpec> find_model(const std::string& name_or_file, const ModelOptions& options);

} // namespace ncclprobe::workload
