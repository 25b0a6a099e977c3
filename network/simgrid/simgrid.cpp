// SPDX-License-Identifier: Apache-2.0
#include "network/simgrid/simgrid.h"

#include "engine/base/module.h"

namespace orrery {
namespace {

using MakeRates = SharedRates*(const LinkInfo* links, std::size_t num_links);

Result<MakeRates*> load() {
    return Module::open("orrery_simgrid").and_then([](const Module& module) -> Result<MakeRates*> {
        MakeRates* make = nullptr;
        if (!module.find("orrery_simgrid_rates", make)) {
            return fail("liborrery_simgrid.so", "is of another orrery");
        }
        return make;
    });
}

const Result<MakeRates*>& simgrid() {
    static const Result<MakeRates*> loaded = load();
    return loaded;
}

}  // namespace

Result<void> check_simgrid() {
    return simgrid() ? Result<void>{} : unexpected<Error>(simgrid().error());
}

bool has_simgrid() {
    return simgrid().has_value();
}

std::unique_ptr<SharedRates> make_simgrid_rates(std::span<const LinkInfo> links) {
    return has_simgrid() ? std::unique_ptr<SharedRates>{(*simgrid())(links.data(), links.size())}
                         : nullptr;
}

}  // namespace orrery
