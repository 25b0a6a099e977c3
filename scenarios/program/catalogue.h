// SPDX-License-Identifier: Apache-2.0
// `orrery catalogue`: the devices, nodes, fabrics, models and faults that a scenario can name, with
// the source of every figure.
#pragma once

#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct CatalogueArguments : ViewArguments {
    std::string name;  // of a section or an entry; empty: all
};

int catalogue_command(const CatalogueArguments& arguments);

}  // namespace orrery
