// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <string_view>

namespace ncclprobe::system {

// Obstacles between devices that access each other: access control of PCI bridges, IOMMU, a
// hypervisor. Only root can read the first.
model::PciSurvey pci_survey(const std::filesystem::path& root = "/");

// Whether a bridge with this configuration space redirects requests between its devices to the root
// complex (Access Control Services: request or completion redirect is on). False without that
// capability. Absent if the space is truncated or cannot be understood.
std::optional<bool> redirects_peers(std::string_view configuration_space);

} // namespace ncclprobe::system
