// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <string_view>

namespace ncclprobe::system {

// What stands between devices that write to each other: access control of PCI bridges, IOMMU, a
// hypervisor. Only root can read the first.
model::PciSurvey pci_survey(const std::filesystem::path& root = "/");

// Whether a bridge with this configuration space redirects requests between its devices to the root
// (Access Control Services: request or completion redirect is on). One that has no such capability
// does not. Absent if the space is cut off or cannot be understood.
std::optional<bool> redirects_peers(std::string_view configuration_space);

} // namespace ncclprobe::system
