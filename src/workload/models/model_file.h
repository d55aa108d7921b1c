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
//   sequence  tokens a sample; left out if it has none
//   layers    in the order of the forward pass, each with
//     name, kind (embedding, convolution, attention, mlp, experts, head, other), block,
//     output (elements a sample that the next layer gets), experts, experts_per_token
//     parameters  in the order of use, each with name, and shape or elements; place: where
//                 named_parameters() has it, if that is not the order of this file
//     products    each with rows, n, k, count, kind (weights, activations), input_gradient
//
// Only names and sizes of parameters are needed. Instead of layers there may be one list of
// parameters, as named_parameters() has them; neighbours of one module make a layer then. Where no
// products are given, each parameter with two dimensions makes one: its shape is [n, k] as
// nn.Linear's, its rows are the sequence (or 1).
namespace ncclprobe::workload {

// By the ending of its name, .json or .toml.
// Errors: not_found, io, unsupported (another ending); invalid_argument for content that is no
// model, with file, place (line or path of keys) and what is expected there.
base::Result<ModelSpec> read_model_file(const std::filesystem::path& path);

base::Result<ModelSpec> parse_model_json(const std::string& text, const std::string& file);
base::Result<ModelSpec> parse_model_toml(const std::string& text, const std::string& file);

// What parse_model_json() reads back as it was.
std::string write_model_json(const ModelSpec& spec);

// What the user calls a model is a file if it ends in .json or .toml, else a name of the catalogue.
bool is_model_file(const std::string& name_or_file);

// The options do not go with a file, which says itself what they say.
base::Result<ModelSpec> find_model(const std::string& name_or_file, const ModelOptions& options);

} // namespace ncclprobe::workload
