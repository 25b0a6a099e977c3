// SPDX-License-Identifier: Apache-2.0
#include "network/nccl/nccl_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace orrery {
namespace {

constexpr std::size_t kBytesMax = 16U << 20;
constexpr int kDepthMax = 64;
constexpr std::size_t kNodeGpusMax = 1024;
constexpr std::uint32_t kClassGpu = 0x0302;     // 3D controller
constexpr std::uint32_t kClassBridge = 0x0680;  // NVSwitch
constexpr std::uint32_t kClassNetwork = 0x02;   // Ethernet, InfiniBand and others
constexpr std::size_t kTopologyErrorsMax = 20;

struct KnownGpu {
    std::uint32_t pci;
    const char* device;
};
// The PCI ID Repository (pci-ids.ucw.cz), vendor 10de.
constexpr std::array kGpus = {KnownGpu{0x1db5, "v100-32g"},
                              KnownGpu{0x20b0, "a100-40g"},
                              KnownGpu{0x20b2, "a100-80g"},
                              KnownGpu{0x2330, "h100-80g"},
                              KnownGpu{0x2324, "h800"},
                              KnownGpu{0x2335, "h200"},
                              KnownGpu{0x2901, "b200"}};

// Raw bandwidth of one NVLink per direction, GB/s: NVIDIA's data sheets (300 GB/s over 6 links in
// both directions on V100, 600 over 12, 900 over 18, 1800 over 18).
std::int64_t nvlink_GBps(std::uint32_t compute_capability) {
    return compute_capability >= 100 ? 50 : compute_capability >= 70 ? 25 : 20;
}

struct Gpu {
    std::string bus_id;
    std::uint32_t sm = 0;
    std::uint32_t pci_device = 0;
    Bandwidth pcie;
    std::uint64_t switch_links = 0;
    std::map<std::string, std::uint64_t> peer_links;  // by the peer's bus id
};

class Reader {
public:
    Reader(const std::string& xml, std::string source) : xml_(xml), source_(std::move(source)) {}
    ResultOrErrors<NcclTopology> read();

private:
    void complain(const pugi::xml_node& node, std::string what, std::string hint = {}) {
        if (errors_.size() < kTopologyErrorsMax) {
            errors_.push_back({where(node.offset_debug()), std::move(what), std::move(hint)});
        }
    }
    std::string where(std::ptrdiff_t offset) const {
        const auto end = xml_.begin() + std::clamp<std::ptrdiff_t>(
                                            offset, 0, static_cast<std::ptrdiff_t>(xml_.size()));
        return fmt::format("{}:{}", source_, 1 + std::count(xml_.begin(), end, '\n'));
    }
    std::optional<std::string> text(const pugi::xml_node& node, const char* name);
    // An integer in the given base, with an optional prefix 0x.
    std::optional<std::uint64_t> number(const pugi::xml_node& node,
                                        const char* name,
                                        std::uint64_t most,
                                        int base = 10);
    Bandwidth pcie_of(const pugi::xml_node& pci);
    void read_children(const pugi::xml_node& node, int depth);
    void read_pci(const pugi::xml_node& pci);
    void add_gpu(const pugi::xml_node& pci, Gpu gpu);
    void read_gpu(const pugi::xml_node& node);
    void read_net(const pugi::xml_node& node);
    void derive(NcclTopology& topology);

    const std::string& xml_;
    std::string source_;
    Errors errors_;
    std::vector<Gpu> gpus_;
    std::set<std::string> bus_ids_;
    std::size_t cpus_with_gpus_ = 0;
    bool amd_ = false;
    std::uint32_t num_nets_ = 0;
    std::uint32_t num_bare_nics_ = 0;  // without <net>, and so without a speed
    bool links_known_ = true;
    std::int64_t slowest_net_ = 0;
};

std::optional<std::string> Reader::text(const pugi::xml_node& node, const char* name) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute || *attribute.value() == '\0') {
        complain(node, fmt::format("<{}> lacks the attribute '{}'", node.name(), name));
        return std::nullopt;
    }
    return std::string{attribute.value()};
}

std::optional<std::uint64_t> Reader::number(const pugi::xml_node& node,
                                            const char* name,
                                            std::uint64_t most,
                                            int base) {
    const auto word = text(node, name);
    if (!word) {
        return std::nullopt;
    }
    const bool prefixed = base == 16 && word->starts_with("0x");
    const char* begin = word->data() + (prefixed ? 2 : 0);
    const char* end = word->data() + word->size();
    std::uint64_t value = 0;
    const auto [stop, status] = std::from_chars(begin, end, value, base);
    if (status != std::errc{} || stop != end || value > most) {
        complain(
            node,
            fmt::format(
                "attribute '{}' of <{}> can't be '{}'", name, node.name(), word->substr(0, 40)),
            fmt::format("a whole number up to {}", most));
        return std::nullopt;
    }
    return value;
}

// Fraction of data in the transfers: 8 of 10 bits in the first two generations, then 128 of 130.
double pcie_coding(double transfers) {
    return transfers <= 5.0 ? 0.8 : 128.0 / 130.0;
}

// "32.0 GT/s PCIe" times the number of lanes.
Bandwidth Reader::pcie_of(const pugi::xml_node& pci) {
    // If a virtual machine hides the link, NCCL assumes 16 lanes of 8 GT/s (ncclTopoAddPci).
    const auto has = [&](const char* name) { return *pci.attribute(name).value() != '\0'; };
    const auto speed = has("link_speed") ? text(pci, "link_speed") : std::string{"8.0 GT/s"};
    auto width = has("link_width") ? number(pci, "link_width", 32) : std::uint64_t{16};
    if (!speed || !width) {
        return {};
    }
    width = *width == 0 ? 16 : *width;
    std::istringstream in(*speed);
    in.imbue(std::locale::classic());
    double transfers = 0;  // GT/s
    std::string unit;
    if (!(in >> transfers >> unit) || !unit.starts_with("GT/s") || transfers <= 0 ||
        transfers > 1000 || *width == 0) {
        complain(
            pci,
            fmt::format("no PCIe link has speed '{}' and width {}", speed->substr(0, 40), *width),
            "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"");
        return {};
    }
    const double lane = transfers * 1e9 * pcie_coding(transfers);
    return Bandwidth::bits_per_second(
        static_cast<std::int64_t>(lane * static_cast<double>(*width)));
}

void Reader::read_gpu(const pugi::xml_node& node) {
    const pugi::xml_node pci = node.parent();
    if (std::strcmp(pci.name(), "pci") != 0) {
        complain(node, "<gpu> must be in a <pci>");
        return;
    }
    Gpu gpu;
    gpu.sm = static_cast<std::uint32_t>(number(node, "sm", 999).value_or(0));
    for (const pugi::xml_node link : node.children("nvlink")) {
        const auto target = text(link, "target");
        const auto count = number(link, "count", 1024);
        const auto kind = number(link, "tclass", 0xffffff, 16);
        if (!target || !count || !kind) {
            continue;
        }
        if (*kind >> 8U == kClassGpu) {
            gpu.peer_links[*target] += *count;
        } else if (*kind >> 8U == kClassBridge) {
            gpu.switch_links += *count;
        }  // others lead to a CPU
    }
    add_gpu(pci, std::move(gpu));
}

void Reader::add_gpu(const pugi::xml_node& pci, Gpu gpu) {
    gpu.bus_id = text(pci, "busid").value_or("");
    if (!gpu.bus_id.empty() && !bus_ids_.insert(gpu.bus_id).second) {
        complain(pci, fmt::format("bus id '{}' is there twice", gpu.bus_id.substr(0, 40)));
    }
    gpu.pcie = pcie_of(pci);
    if (pci.attribute("device")) {
        gpu.pci_device = static_cast<std::uint32_t>(number(pci, "device", 0xffff, 16).value_or(0));
    }
    if (gpus_.size() == kNodeGpusMax) {
        complain(pci, fmt::format("more than {} GPUs", kNodeGpusMax));
    }
    if (gpus_.size() <= kNodeGpusMax) {
        gpus_.push_back(std::move(gpu));
    }
}

// A GPU or a NIC, recognised by its class, in a file of a cloud.
void Reader::read_pci(const pugi::xml_node& pci) {
    if (pci.first_child() || *pci.attribute("class").value() == '\0') {
        return;
    }
    const auto kind = number(pci, "class", 0xffffff, 16);
    if (kind && *kind >> 8U == kClassGpu) {
        links_known_ = false;
        add_gpu(pci, {});
    } else if (kind && *kind >> 16U == kClassNetwork) {
        ++num_bare_nics_;
    }
}

void Reader::read_net(const pugi::xml_node& node) {
    const auto speed = number(node, "speed", 100'000'000);  // Mb/s
    if (!speed) {
        return;
    }
    if (*speed == 0) {
        complain(node, "attribute 'speed' of <net> must not be zero", "in Mb/s");
        return;
    }
    const std::int64_t bits = static_cast<std::int64_t>(*speed) * 1'000'000;
    slowest_net_ = num_nets_ == 0 ? bits : std::min(slowest_net_, bits);
    ++num_nets_;
}

void Reader::read_children(const pugi::xml_node& node, int depth) {
    if (depth > kDepthMax) {
        complain(node, fmt::format("more than {} elements inside each other", kDepthMax));
        return;
    }
    for (const pugi::xml_node child : node.children()) {
        const std::string_view name = child.name();
        if (name == "gpu") {
            read_gpu(child);
        } else if (name == "net") {
            read_net(child);
        } else if (name == "cpu") {
            const std::size_t before = gpus_.size();
            amd_ = amd_ || std::string_view{child.attribute("vendor").value()} == "AuthenticAMD";
            read_children(child, depth + 1);
            cpus_with_gpus_ += gpus_.size() > before ? 1 : 0;
        } else if (name == "pci" || name == "nic") {
            read_children(child, depth + 1);
            if (name == "pci") {
                read_pci(child);
            }
        }
    }
}

void Reader::derive(NcclTopology& topology) {
    NodeSpec& node = topology.node;
    node.gpus_per_node = static_cast<std::uint32_t>(gpus_.size());
    node.num_sockets = cpus_with_gpus_ > 1 && gpus_.size() > 1 ? 2 : 1;
    node.amd_cpu = amd_;
    topology.compute_capability = gpus_.front().sm;
    topology.pci_device = gpus_.front().pci_device;
    node.pcie_bandwidth = gpus_.front().pcie;
    std::uint64_t to_switch = ~0ULL;
    std::uint64_t to_peers = ~0ULL;
    bool all_peers = true;
    for (const Gpu& gpu : gpus_) {
        topology.compute_capability = std::min(topology.compute_capability, gpu.sm);
        node.pcie_bandwidth = std::min(node.pcie_bandwidth, gpu.pcie);
        std::uint64_t peers = 0;
        for (const auto& [bus_id, count] : gpu.peer_links) {
            peers += bus_ids_.contains(bus_id) ? count : 0;
        }
        to_switch = std::min(to_switch, gpu.switch_links);
        to_peers = std::min(to_peers, peers);
        all_peers = all_peers && gpu.peer_links.size() + 1 >= gpus_.size();
    }
    const bool nvswitch = to_switch > 0;
    const bool mesh = !nvswitch && to_peers > 0 && all_peers;
    node.intra_node = nvswitch ? IntraNodeKind::nvswitch
                      : mesh   ? IntraNodeKind::nvlink_mesh
                               : IntraNodeKind::pcie;
    const std::uint64_t links = nvswitch ? to_switch : mesh ? to_peers : 0;
    node.nvlink_bandwidth =
        Bandwidth::bytes_per_second(static_cast<std::int64_t>(links) *
                                    nvlink_GBps(topology.compute_capability) * 1'000'000'000);
    // NCCL's values (src/graph/topo.h); latencies as in the catalogue's servers.
    const std::uint32_t sm = topology.compute_capability;
    node.nvlink_efficiency = sm >= 100 ? 0.802 : sm >= 90 ? 0.824 : 0.8;
    node.pcie_efficiency = 0.762;
    node.nvlink_latency = Time::picoseconds(350'000);
    node.pcie_latency = Time::picoseconds(270'000);
    node.nvls = nvswitch && topology.compute_capability >= 90;
    topology.links_known = links_known_;
    topology.nics_per_node = num_nets_ > 0 ? num_nets_ : num_bare_nics_;
    topology.nic_bandwidth = Bandwidth::bits_per_second(slowest_net_);
}

ResultOrErrors<NcclTopology> Reader::read() {
    if (xml_.size() > kBytesMax) {
        return unexpected<Errors>(Errors{
            {source_, fmt::format("{} bytes are no topology of a server", xml_.size()), ""}});
    }
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(xml_.data(), xml_.size());
    if (!parsed) {
        return unexpected<Errors>(
            Errors{{where(parsed.offset), fmt::format("not XML: {}", parsed.description()), ""}});
    }
    const pugi::xml_node system = document.child("system");
    if (!system) {
        return unexpected<Errors>(Errors{{fmt::format("{}:1", source_),
                                          "no <system>: this is not a topology of NCCL",
                                          "a file that NCCL_TOPO_DUMP_FILE wrote"}});
    }
    if (number(system, "version", 1'000'000).value_or(1) != 1) {
        complain(system, "only version 1 of NCCL's topology is known");
    }
    read_children(system, 0);
    if (gpus_.empty() && errors_.empty()) {
        complain(system, "there is no <gpu>");
    }
    NcclTopology topology;
    if (errors_.empty()) {
        derive(topology);
        return topology;
    }
    return unexpected<Errors>(std::move(errors_));
}

std::string bus_id(std::uint32_t number) {
    return fmt::format("0000:{:02x}:{:02x}.0", 1 + number / 32, number % 32);
}

// The link_speed, in NCCL's form, of the PCIe generation with this bandwidth over 16 lanes.
std::string link_speed(Bandwidth pcie) {
    const double data = static_cast<double>(pcie.bits_per_second()) / 16e9;
    return fmt::format("{:.1f} GT/s PCIe", data / pcie_coding(data <= 4.0 ? 5.0 : data));
}

class XmlWriter {
public:
    XmlWriter(const NodeSpec& node,
              const FabricSpec& fabric,
              std::uint32_t compute_capability,
              std::uint32_t pci_device)
        : node_(node), fabric_(fabric), sm_(compute_capability), pci_device_(pci_device) {}

    std::string write() {
        pugi::xml_node system = document_.append_child("system");
        set(system, "version", 1);
        const std::uint32_t nics = fabric_.nics_per_node;
        for (std::uint32_t s = 0; s < node_.num_sockets; ++s) {
            pugi::xml_node cpu = system.append_child("cpu");
            set(cpu, "numaid", s);
            cpu.append_attribute("affinity") = "ffffffff";
            cpu.append_attribute("arch") = "x86_64";
            cpu.append_attribute("vendor") = node_.amd_cpu ? "AuthenticAMD" : "GenuineIntel";
            set(cpu, "familyid", node_.amd_cpu ? 143 : 6);
            set(cpu, "modelid", node_.amd_cpu ? 49 : 143);
            for (std::uint32_t gpu = 0; gpu < node_.gpus_per_node; ++gpu) {
                if (gpu * node_.num_sockets / node_.gpus_per_node == s) {
                    add_gpu(cpu, gpu);
                }
            }
            for (std::uint32_t nic = 0; nic < nics; ++nic) {
                if (nic * node_.num_sockets / nics == s) {
                    add_nic(cpu, nic);
                }
            }
        }
        std::ostringstream out;
        document_.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
        return out.str();
    }

private:
    static void set(pugi::xml_node& node, const char* name, std::uint32_t value) {
        node.append_attribute(name) = value;
    }
    pugi::xml_node add_pci(pugi::xml_node& cpu,
                           std::uint32_t number,
                           const char* pci_class,
                           const char* vendor,
                           std::uint32_t device) {
        pugi::xml_node pci = cpu.append_child("pci");
        pci.append_attribute("busid") = bus_id(number).c_str();
        pci.append_attribute("class") = pci_class;
        pci.append_attribute("vendor") = vendor;
        pci.append_attribute("device") = fmt::format("0x{:04x}", device).c_str();
        pci.append_attribute("link_speed") = link_speed(node_.pcie_bandwidth).c_str();
        set(pci, "link_width", 16);
        return pci;
    }
    void add_gpu(pugi::xml_node& cpu, std::uint32_t gpu) {
        pugi::xml_node pci = add_pci(cpu, gpu, "0x030200", "0x10de", pci_device_);
        pugi::xml_node element = pci.append_child("gpu");
        set(element, "dev", gpu);
        set(element, "sm", sm_);
        set(element, "rank", gpu);
        set(element, "gdr", 1);
        const auto links = static_cast<std::uint32_t>(node_.nvlink_bandwidth.bits_per_second() /
                                                      (nvlink_GBps(sm_) * 8'000'000'000));
        const std::uint32_t peers = node_.gpus_per_node - 1;
        if (node_.intra_node == IntraNodeKind::nvswitch && links > 0) {
            add_links(element, node_.gpus_per_node + fabric_.nics_per_node, links, "0x068000");
        } else if (node_.intra_node == IntraNodeKind::nvlink_mesh && peers > 0) {
            // The remaining links go to the next neighbours.
            for (std::uint32_t step = 1; step <= peers; ++step) {
                const std::uint32_t count = links / peers + (step <= links % peers ? 1 : 0);
                add_links(element, (gpu + step) % node_.gpus_per_node, count, "0x030200");
            }
        }
    }
    static void add_links(pugi::xml_node& gpu,
                          std::uint32_t target,
                          std::uint32_t count,
                          const char* target_class) {
        pugi::xml_node link = gpu.append_child("nvlink");
        link.append_attribute("target") = bus_id(target).c_str();
        set(link, "count", count);
        link.append_attribute("tclass") = target_class;
    }
    void add_nic(pugi::xml_node& cpu, std::uint32_t nic) {
        pugi::xml_node pci = add_pci(cpu, node_.gpus_per_node + nic, "0x020700", "0x15b3", 0x1021);
        pugi::xml_node net = pci.append_child("nic").append_child("net");
        net.append_attribute("name") = fmt::format("mlx5_{}", nic).c_str();
        set(net, "dev", nic);
        net.append_attribute("speed") =
            static_cast<unsigned long long>(fabric_.nic_bandwidth.bits_per_second() / 1'000'000);
        set(net, "port", 1);
        net.append_attribute("latency") = "0.000000";
        net.append_attribute("guid") = fmt::format("0x{:x}", nic + 1).c_str();
        set(net, "maxconn", 131072);
        set(net, "gdr", 1);
    }

    const NodeSpec& node_;
    const FabricSpec& fabric_;
    std::uint32_t sm_;
    std::uint32_t pci_device_;
    pugi::xml_document document_;
};

}  // namespace

ResultOrErrors<NcclTopology> parse_nccl_topology(const std::string& xml,
                                                 const std::string& source) {
    return Reader{xml, source}.read();
}

std::string write_nccl_topology(const NodeSpec& node,
                                const FabricSpec& fabric,
                                std::uint32_t compute_capability,
                                std::uint32_t pci_device) {
    return XmlWriter{node, fabric, compute_capability, pci_device}.write();
}

std::string device_of_pci(std::uint32_t pci_device) {
    for (const KnownGpu& gpu : kGpus) {
        if (gpu.pci == pci_device) {
            return gpu.device;
        }
    }
    return {};
}

std::uint32_t pci_of_device(const std::string& device) {
    for (const KnownGpu& gpu : kGpus) {
        if (gpu.device == device) {
            return gpu.pci;
        }
    }
    return 0;
}

}  // namespace orrery
