// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <map>
#include <optional>
#include <string>

namespace ncclprobe::worker {

// Loads the tuner plugin that the environment names, as NCCL would, and reads the table of our own.
// NCCL goes on without a plugin that it cannot load, and only its log tells. Nothing without
// NCCL_TUNER_PLUGIN, or if its value needs no file.
std::optional<model::TriedTuner> try_tuner(const std::map<std::string, std::string>& environment);

} // namespace ncclprobe::worker
