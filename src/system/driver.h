// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// NVIDIA's kernel side and services as visible on the host: module, device files, daemons,
// packages.
model::DriverSurvey driver_survey(const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
