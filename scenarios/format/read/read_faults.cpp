// SPDX-License-Identifier: Apache-2.0
// The section `faults`: a list of
//   {t: 3d4h, at: "node:17/gpu:3", kind: gpu_lost}          one fault; without t: from the start on
//   {step: 12, at: "node:2", kind: node_crash}              one in the middle of the step after 12
//   {time: 1.2 s, at: "node:3/gpu:1", kind: gpu_lost}       one so long after a step's begin
//   {time: 1 s, link: leaf 0 -> spine 3, kind: link_flap, duration: 300 ms}
//   {kind: slow_host, at: "node:*", p: 0.005, factor: 1.1}  a lottery over components
//   {kind: link_flap, at: "node:2/nic:1", duration: 3 s, every: 20 s, cycles: 5}
//   {process: exponential, kind: gpu_lost, at: "gpu:*", mtbf: 2000 d}     also weibull, lognormal
//   {process: exponential, kind: …, count: 148, window: 54 d, over: 16384}   counted on this many
//                                                           components; without over: on all here
//   {process: trace, file: fault_trace.csv}
//   {catalogue: llama-3-405b}                               classes with published counts
//   {daily_variance: 3.43}                                  faults come in bursts
// Without `at` a fault stands at each component of its kind (fault_kind.cpp): a GPU's at gpu:*, a
// switch's at leaf:*. Times are of one component.
#include <fmt/format.h>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_fault_trace.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

enum class How : std::uint8_t { once, exponential, weibull, lognormal, trace };
constexpr Choice<How> kHow[] = {{"exponential", How::exponential},
                                {"weibull", How::weibull},
                                {"lognormal", How::lognormal},
                                {"trace", How::trace}};

std::vector<std::string> fault_words(bool) {
    std::vector<std::string> names;
    for (const FaultKindInfo& known : fault_kinds()) {
        names.emplace_back(known.name);
    }
    return names;
}

constexpr Key fault_kind() {
    Key row = plain("kind", KeyShape::choice, "Kind of the fault.");
    row.words = fault_words;
    return row.by("required");
}
constexpr Key place() {
    return plain("at", KeyShape::word, "Component: \"node:17/gpu:3\", \"gpu:*\", \"job\".")
        .by("each of the kind's components");
}

constexpr Key kEscalationRows[] = {
    fault_kind(),
    place(),
    key<&Escalation::probability>("p", "Probability of the second fault.").range(0, 1),
    key<&Escalation::mean_delay>("after", "Mean time until the second fault."),
};
constexpr auto kEscalationKeys = key_table<Escalation>("escalation", kEscalationRows);

constexpr Key kFaultRows[] = {
    fault_kind(),
    place(),
    key<&FaultProcess::name>("name", "Class of the fault in reports.").by("its kind"),
    plain("t", KeyShape::wall_time, "Time of one fault.").by("from the start on"),
    key<&FaultProcess::once_step>("step",
                                  "Step after which one fault comes, in the middle of the next.")
        .range(0, 1'000'000'000'000)
        .by("none"),
    plain("time", KeyShape::wall_time, "Time of one fault after a step's begin."),
    plain("link", KeyShape::word, "Link of the fabric, of a fault with `time`."),
    plain("every", KeyShape::wall_time, "Time between the repetitions of one fault."),
    plain("cycles", KeyShape::integer, "Number of these repetitions.").range(1, 10'000).by("1"),
    plain_choice<kHow>("process", "Distribution of the times between a component's faults."),
    plain("mtbf", KeyShape::wall_time, "Mean time between faults of one component."),
    plain("count", KeyShape::real, "Faults in `window`, in place of mtbf.").range(1e-6, 1e9),
    plain("window", KeyShape::wall_time, "Time in which `count` faults were seen."),
    plain("over", KeyShape::real, "Components on which they were seen.")
        .range(1e-6, 1e9)
        .by("those of the cluster"),
    plain("shape", KeyShape::real, "Weibull's shape.").range(0.05, 10).by("1"),
    plain("sigma", KeyShape::real, "The log-normal distribution's sigma.").range(0.05, 10).by("1"),
    plain("file", KeyShape::path, "Table of the faults of a trace."),
    key<&FaultProcess::probability>("p", "Probability that a component has the fault at all.")
        .range(0, 1),
    key<&FaultProcess::frailty>("frailty", "Gamma shape of the nodes' different rates.")
        .range(0.01, 1000)
        .by("all alike"),
    key<&FaultProcess::factor>("factor",
                               "Time of a kernel or transfer / its time without the fault.")
        .range(1, 1000)
        .by("the kind's"),
    key<&FaultProcess::notice>("notice", "Warning time before the fault."),
    key<&FaultProcess::duration>("duration", "Time until the fault ends.").by("the kind's"),
    nested("escalates", KeyShape::map, kEscalationKeys, "A second fault that may follow."),
    plain("catalogue", KeyShape::word, "Classes of faults with published counts."),
    plain("scale", KeyShape::real, "Their rates / the published ones.").range(0, 1000).by("1"),
    plain("daily_variance", KeyShape::real, "Variance / mean of the daily count of all faults.")
        .range(1, 1000)
        .by("1"),
};

constexpr Key kClassRows[] = {
    key<&FaultProcess::name>("name", "Class of the fault in reports.").by("its kind"),
    fault_kind().required(),
    place(),
    plain("count", KeyShape::real, "Faults in the window.").range(0, 1e9).required(),
};
constexpr KeyMap kClassKeys = key_map("fault_class", kClassRows);
constexpr Key kFaultCatalogueRows[] = {
    plain("name", KeyShape::word, "What reports call the catalogue.").by("the entry's name"),
    plain("window", KeyShape::wall_time, "Time in which the faults were seen.").required(),
    plain("nodes", KeyShape::real, "Nodes on which they were seen.").range(1, 1e8).required(),
    nested("classes", KeyShape::map_list, kClassKeys, "Classes of faults.").required(),
};

class FaultsReader {
public:
    FaultsReader(const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 const ClusterShape& shape,
                 FaultPlan& plan,
                 Errors& errors)
        : catalogue_(catalogue), folder_(folder), shape_(shape), plan_(plan), errors_(errors) {}

    void read(const DocumentNode& section) {
        if (!section.is_sequence()) {
            errors_.push_back(
                {section.where(),
                 "faults must be a list, not " + section.describe(),
                 "- {process: exponential, kind: gpu_lost, at: gpu:*, mtbf: 2000 d}"});
            return;
        }
        for (std::size_t i = 0; i < section.items.size(); ++i) {
            const DocumentNode& item = section.items[i];
            const std::string path = fmt::format("faults[{}]", i);
            if (!item.is_map()) {
                errors_.push_back(
                    {item.where(), path + " must be a map, not " + item.describe(), {}});
                continue;
            }
            entry(item, path);
        }
    }

private:
    void entry(const DocumentNode& item, const std::string& path) {
        MapReader reader{item, path, errors_};
        const std::size_t processes = plan_.processes.size();
        const std::size_t in_step = plan_.in_step.size();
        if (reader.find("catalogue") != nullptr) {
            from_catalogue(reader);
        } else if (reader.find("daily_variance") != nullptr) {
            read_real(reader, kFaultKeys, "daily_variance", plan_.daily_variance);
        } else {
            process(reader, path);
        }
        reader.finish();
        remember(item, path, processes, in_step);
    }

    // Records the processes and faults from these numbers on as the entry's.
    void remember(const DocumentNode& item,
                  const std::string& path,
                  std::size_t processes,
                  std::size_t in_step) {
        FaultEntry entry{.path = path};
        const auto add = [&](FaultForm form, FaultKind kind) {
            entry.form = form;
            entry.kind = kind;
            if (plan_.entries.empty() || plan_.entries.back() != entry) {
                plan_.entries.push_back(entry);
            }
        };
        if (item.find("daily_variance") != nullptr) {
            return add(FaultForm::bursts, FaultKind::node_crash);
        }
        const DocumentNode* catalogue = item.find("catalogue");
        for (; processes < plan_.processes.size(); ++processes) {
            const FaultProcess& process = plan_.processes[processes];
            if (catalogue != nullptr) {
                entry.what = catalogue->is_scalar() ? catalogue->text : "a catalogue";
                return add(FaultForm::process, process.kind);
            }
            const FaultForm form = form_of(process);
            entry.what = form == FaultForm::trace ? "a trace" : std::string{name(process.kind)};
            add(form, process.kind);
        }
        for (; in_step < plan_.in_step.size(); ++in_step) {
            entry.what = std::string{name(plan_.in_step[in_step].kind)};
            add(FaultForm::in_step, plan_.in_step[in_step].kind);
        }
    }

    void from_catalogue(MapReader& reader) {
        const DocumentNode map = catalogue_.resolve(
            *reader.find("catalogue"), "faults", reader.full_name("catalogue"), errors_);
        double scale = 1;
        read_real(reader, kFaultKeys, "scale", scale);
        if (!map.is_map()) {
            return;
        }
        MapReader entry{map, "catalogue", errors_};
        std::string name;
        entry.word("name", name);
        WallTime window;
        double over = 0;
        read_wall_time(entry, "window", window, WallTime::seconds(1), Presence::required);
        read_real(entry, kFaultCatalogueKeys, "nodes", over);
        const DocumentNode* classes = entry.find("classes", Presence::required);
        entry.finish();
        if (classes == nullptr || !classes->is_sequence() || scale <= 0 || over <= 0) {
            return;
        }
        for (const DocumentNode& one : classes->items) {
            if (one.is_map()) {
                MapReader row{one, "classes", errors_};
                counted(row, window, over, scale);
                row.finish();
            }
        }
    }

    // Converts a count of faults of a class on a number of nodes in a window to a rate per node or
    // per job.
    void counted(MapReader& reader, WallTime window, double nodes, double scale) {
        FaultProcess process;
        if (!kind_and_place(reader, process)) {
            return;
        }
        double count = 0;
        read_real(reader, kClassKeys, "count", count);
        read_key(reader, kFaultKeys, "name", process);
        if (count <= 0) {
            return;
        }
        // A catalogue's rates are per node, also for faults of the whole job: scaled to this job.
        const double here = shape_.components(process.at.scope);
        const double components = nodes * here / shape_.nodes;
        process.interval = {
            .kind = DistributionKind::exponential,
            .scale = WallTime::seconds(window.seconds() * components / (count * scale))};
        plan_.processes.push_back(process);
    }

    bool kind_and_place(MapReader& reader, FaultProcess& process) {
        std::string word;
        if (!reader.word("kind", word, Presence::required)) {
            reader.find("at");
            return false;
        }
        const std::optional<FaultKind> kind = fault_kind_of(word);
        if (!kind) {
            reader.complain("kind",
                            fmt::format("{} can't be '{}'", reader.full_name("kind"), word),
                            nearest_hint(word, fault_words(true)));
            reader.find("at");
            return false;
        }
        process.kind = *kind;
        process.name = word;
        const Scope natural = info(*kind).natural;
        const bool one = natural == Scope::job || natural == Scope::site;
        process.at = {natural, one ? 0 : kEvery};
        std::string at;
        if (!reader.word("at", at)) {
            return true;
        }
        const Result<Component> component = parse_component(at, shape_);
        if (!component) {
            reader.complain("at",
                            reader.full_name("at") + ": " + component.error().what,
                            component.error().hint);
            return false;
        }
        const bool of_nodes = component->scope != Scope::job && component->scope != Scope::spine;
        const bool fits = of_nodes == info(*kind).on_node() &&
                          (component->scope != Scope::spine || info(*kind).natural == Scope::spine);
        if (!fits) {
            reader.complain("at",
                            fmt::format("{} does not happen to {}", word, at),
                            info(*kind).on_node()                 ? "a node, a GPU, a rack …"
                            : info(*kind).natural == Scope::spine ? "spine:*, job, or leave it out"
                                                                  : "job, or leave it out");
            return false;
        }
        process.at = *component;
        return true;
    }

    void process(MapReader& reader, const std::string& path) {
        How how = How::once;
        if (!reader.choice("process", how, kHow) && reader.find("process") != nullptr) {
            return silence(reader);
        }
        if (how == How::trace) {
            return trace(reader);
        }
        FaultProcess process;
        const bool placed = kind_and_place(reader, process);
        read_key(reader, kFaultKeys, "name", process);
        options(reader, path, process);
        if (how == How::once) {
            once(reader, process, placed);
            return;
        }
        const DistributionKind kind = how == How::exponential ? DistributionKind::exponential
                                      : how == How::weibull   ? DistributionKind::weibull
                                                              : DistributionKind::lognormal;
        if (interval(reader, kind, process) && placed) {
            plan_.processes.push_back(process);
        }
    }

    // Marks all keys as known, because a more important error is reported.
    static void silence(MapReader& reader) {
        for (const Key& key : kFaultRows) {
            reader.find(key.name);
        }
    }

    bool interval(MapReader& reader, DistributionKind kind, FaultProcess& process) {
        const std::size_t before = errors_.size();
        WallTime mtbf;
        const WallTime least = WallTime::seconds(1);
        const bool has_mtbf = read_wall_time(reader, "mtbf", mtbf, least);
        double count = 0;
        double over = population(process, shape_);
        WallTime window;
        const bool has_count = read_real(reader, kFaultKeys, "count", count);
        const bool has_window = read_wall_time(reader, "window", window, least);
        read_real(reader, kFaultKeys, "over", over);
        double shape = 1;
        const char* own = kind == DistributionKind::lognormal ? "sigma" : "shape";
        read_real(reader, kFaultKeys, own, shape);
        if (errors_.size() != before) {
            return false;
        }
        if (has_mtbf == (has_count && has_window)) {
            reader.complain("mtbf",
                            reader.full_name("mtbf") + " is missing",
                            "mtbf of one component, or count and window (of all of them here, or "
                            "over: a number of them)");
            return false;
        }
        if (!has_mtbf) {
            mtbf = WallTime::seconds(window.seconds() * over / count);
        }
        process.interval = with_mean(kind, mtbf, shape);
        return true;
    }

    void options(MapReader& reader, const std::string& path, FaultProcess& process) {
        for (const char* option : {"p", "frailty", "factor", "notice", "duration"}) {
            read_key(reader, kFaultKeys, option, process);
        }
        const DocumentNode* node = reader.find("escalates");
        if (node == nullptr) {
            return;
        }
        if (!node->is_map()) {
            reader.complain("escalates", path + ".escalates must be a map", "{kind, p, after}");
            return;
        }
        MapReader map{*node, path + ".escalates", errors_};
        Escalation escalation;
        FaultProcess next;
        kind_and_place(map, next);
        escalation.kind = next.kind;
        read_key(map, kEscalationKeys, "p", escalation);
        read_key(map, kEscalationKeys, "after", escalation);
        map.finish();
        process.escalation = escalation;
    }

    // A fault in the middle of the simulated step.
    void in_step(MapReader& reader, const FaultProcess& process, bool placed) {
        StepFault fault{.kind = process.kind, .at = process.at, .factor = process.factor};
        const bool timed = read_wall_time(reader, "time", fault.time);
        const bool links = reader.word("link", fault.link);
        if (links && (process.kind != FaultKind::link_flap || reader.find("at") != nullptr)) {
            reader.complain("link",
                            "a link of the fabric flaps, and stands for the place",
                            "{kind: link_flap, link: leaf 0 -> spine 3, time: 1 s}");
            return;
        }
        if (process.duration) {
            fault.duration = WallTime::seconds(process.duration->mean_s());
        }
        if (!links && fault.at.index == kEvery) {
            reader.complain("at", "needs one place, not all", "at: \"node:3\"");
            return;
        }
        if (timed && placed) {
            plan_.in_step.push_back(fault);
        }
    }

    void once(MapReader& reader, FaultProcess process, bool placed) {
        if (reader.find("time") != nullptr) {
            return in_step(reader, process, placed);
        }
        WallTime time;
        const bool at_time = read_wall_time(reader, "t", time);
        if (read_key(reader, kFaultKeys, "step", process)) {
            if (at_time) {
                reader.complain("step", "a fault comes at a time or at a step", "one of them");
            }
            if (placed) {
                plan_.processes.push_back(process);
            }
            return;
        }
        WallTime every;
        std::int64_t cycles = 1;
        reader.integer("cycles", cycles, row_of(kFaultKeys, "cycles").integers);
        if (!read_wall_time(reader, "every", every) && cycles > 1) {
            reader.complain("cycles", reader.full_name("cycles") + " needs 'every'", "every: 20 s");
        }
        for (std::int64_t i = 0; placed && i < cycles; ++i) {
            process.once = time + every * i;
            plan_.processes.push_back(process);
        }
    }

    void trace(MapReader& reader) {
        std::string file;
        std::string name = "trace";
        reader.word("name", name);
        if (!reader.word("file", file, Presence::required)) {
            return;
        }
        const auto trace = is_table_text(file) ? parse_fault_trace(file, reader.full_name("file"))
                                               : read_fault_trace((folder_ / file).string());
        if (!trace) {
            errors_.insert(errors_.end(), trace.error().begin(), trace.error().end());
            return;
        }
        if (trace->nodes > shape_.nodes) {
            reader.complain("file",
                            fmt::format("the trace has faults on node {}, and the cluster has {} "
                                        "nodes",
                                        trace->nodes - 1,
                                        shape_.nodes),
                            fmt::format("cluster.nodes: {} or more", trace->nodes));
            return;
        }
        FaultProcess process{
            .name = name, .kind = trace->events.front().kind, .events = trace->events};
        plan_.processes.push_back(std::move(process));
    }

    const Catalogue& catalogue_;
    const std::filesystem::path& folder_;
    const ClusterShape& shape_;
    FaultPlan& plan_;
    Errors& errors_;
};

}  // namespace

const KeyTable<FaultProcess> kFaultKeys = key_table<FaultProcess>("fault", kFaultRows);
const KeyMap kFaultCatalogueKeys = key_map("faults", kFaultCatalogueRows);

void read_faults(const DocumentNode& section,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 const ClusterShape& shape,
                 FaultPlan& plan,
                 Errors& errors) {
    FaultsReader{catalogue, folder, shape, plan, errors}.read(section);
}

}  // namespace orrery
