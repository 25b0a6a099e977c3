// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_range.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr std::array<const char*, 3> kSides{"long", "short", "depth"};

std::string row_of(std::size_t side, const char* end) {
    return std::string{"gemm.measured."} + kSides[side] + end;
}

}  // namespace

GemmRange::GemmRange(const std::vector<KernelCall>& products) {
    ORRERY_CHECK(!products.empty());
    for (const KernelCall& product : products) {
        const std::array<double, 3> sides = sides_of(product);
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const bool first = &product == &products.front();
            Span& span = sides_[i];
            span.least = first ? sides[i] : std::min(span.least, sides[i]);
            span.most = first ? sides[i] : std::max(span.most, sides[i]);
        }
    }
}

std::optional<GemmRange> GemmRange::of(const EfficiencyTable& table,
                                       const std::string& generation) {
    GemmRange range;
    for (std::size_t i = 0; i < kSides.size(); ++i) {
        const auto* least = table.find(row_of(i, "_least"), generation, "*");
        const auto* most = table.find(row_of(i, "_most"), generation, "*");
        if (least == nullptr || most == nullptr || least->value <= 0 || most->value <= 0) {
            return std::nullopt;
        }
        range.sides_[i] = {least->value, most->value};
    }
    return range;
}

std::array<double, 3> GemmRange::sides_of(const KernelCall& product) {
    const auto [m, n, k, batch, unused_0, unused_1] = product.dims;
    return {static_cast<double>(std::max(m, n)),
            static_cast<double>(std::min(m, n)),
            static_cast<double>(k)};
}

double GemmRange::octaves_outside(const KernelCall& product) const {
    const std::array<double, 3> sides = sides_of(product);
    double squared = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const double nearest = std::clamp(sides[i], sides_[i].least, sides_[i].most);
        const double octaves = std::log2(sides[i] / nearest);
        squared += octaves * octaves;
    }
    return std::sqrt(squared);
}

void GemmRange::set(EfficiencyTable& table,
                    const std::string& generation,
                    const std::string& source) const {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
        table.set(row_of(i, "_least"), generation, "*", {sides_[i].least, 0, source});
        table.set(row_of(i, "_most"), generation, "*", {sides_[i].most, 0, source});
    }
}

void set_gemm_ranges(const std::vector<Measurement>& rows,
                     const std::map<std::string, DeviceSpec>& devices,
                     EfficiencyTable& table) {
    std::map<std::string, std::vector<KernelCall>> products;
    for (const Measurement& row : rows) {
        if (row.family == "gemm") {
            std::vector<KernelCall>& list = products[devices.at(row.device).generation];
            list.insert(list.end(), row.calls.begin(), row.calls.end());
        }
    }
    for (const auto& [generation, list] : products) {
        GemmRange{list}.set(table, generation, "measured products");
    }
}

}  // namespace orrery
