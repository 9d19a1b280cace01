//! The map of the code: its largest folders with what is in them, in layers by their imports.

use super::{
    code::Code,
    places::{Described, Folders},
};
use openagents_core::{
    budget::Budget,
    text::{cut_at_word, one_line},
    update::{CodeMap, MapEdge, MapNode},
};
use petgraph::{
    Direction,
    algo::{has_path_connecting, tarjan_scc, toposort},
    graph::{DiGraph, NodeIndex},
};
use std::collections::{BTreeMap, HashMap};

/// Maximum nodes at the top, and in each of them.
const TOP: usize = 14;
const INNER: usize = 10;
/// With fewer nodes than this, the largest is replaced by what is in it.
const FEW: usize = 6;
/// Maximum characters of a description.
const DESCRIPTION: usize = 110;

/// A folder (without a `/` at its end) or file, with the files of the code in it.
#[derive(Debug, Clone)]
struct Part {
    path: String,
    is_folder: bool,
    /// Indices in the code.
    files: Vec<usize>,
    lines: usize,
}

/// Builds the map; empty if the code has fewer than two parts.
pub(super) fn map(code: &Code, folders: &Folders<'_>, budget: &Budget) -> CodeMap {
    let all: Vec<usize> = (0..code.files.len()).filter(|at| code.files[*at].lines > 0).collect();
    let (top, mut omitted) = top(code, all);
    let mut map = CodeMap::default();
    if top.len() < 2 {
        return map;
    }
    let describe = |part: &Part| {
        let place = match part.is_folder {
            true => folders.describe(&part.path, part.files.len(), budget),
            false => part.files.first().map(|at| code.files[*at].place.clone()).unwrap_or_default(),
        };
        description(&place)
    };
    let layers = layers(code, &top);
    let mut positions = Vec::new();
    for (part, layer) in top.iter().zip(&layers.layers) {
        let index = map.nodes.len() as u32;
        positions.push(index);
        map.nodes.push(part.node(*layer, None, describe(part)));
        let (inner, more) = inner(code, part);
        omitted += more;
        let layers = self::layers(code, &inner);
        let first = index + 1;
        map.nodes.extend(
            inner
                .iter()
                .zip(&layers.layers)
                .map(|(part, layer)| part.node(*layer, Some(index), describe(part))),
        );
        map.edges.extend(layers.edges.into_iter().map(|edge| renumbered(edge, |end| first + end)));
    }
    map.edges.extend(layers.edges.into_iter().map(|edge| renumbered(edge, |end| positions[end as usize])));
    map.edges.sort_by_key(|edge| (std::cmp::Reverse(edge.imports), edge.from, edge.to));
    map.omitted = omitted as u32;
    map
}

/// Returns one line about a place.
fn description(place: &Described) -> String {
    cut_at_word(&one_line(&place.description), DESCRIPTION)
}

impl Part {
    fn node(&self, layer: u32, parent: Option<u32>, description: String) -> MapNode {
        let end = if self.is_folder { "/" } else { "" };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        MapNode {
            path: format!("{}{end}", self.path),
            description,
            files: count(self.files.len()),
            lines: count(self.lines),
            layer,
            parent,
        }
    }
}

/// Returns the parts at which the tree branches, and the number of smaller ones that are left out.
fn top(code: &Code, all: Vec<usize>) -> (Vec<Part>, usize) {
    let lines: usize = all.iter().map(|at| code.files[*at].lines).sum();
    let mut parts = split(code, "", all);
    let mut omitted = cut(&mut parts, TOP);
    loop {
        // The largest folder, if it hides most of the project, or if there is little else.
        let largest =
            parts.iter().position(|part| part.is_folder && (parts.len() < FEW || part.lines * 2 > lines));
        let Some(at) = largest else { break };
        let inner = split(code, &parts[at].path, parts[at].files.clone());
        if inner.len() < 2 {
            break;
        }
        parts.splice(at..=at, inner);
        omitted += cut(&mut parts, TOP);
    }
    (parts, omitted)
}

fn inner(code: &Code, part: &Part) -> (Vec<Part>, usize) {
    if !part.is_folder {
        return (Vec::new(), 0);
    }
    let mut parts = split(code, &part.path, part.files.clone());
    if parts.len() < 2 {
        return (Vec::new(), 0);
    }
    let omitted = cut(&mut parts, INNER);
    (parts, omitted)
}

/// Splits the files in a folder by the folders and files directly in it; folders that only hold another are skipped.
fn split(code: &Code, folder: &str, files: Vec<usize>) -> Vec<Part> {
    let path = |at: usize| code.files[at].place.path.as_str();
    let before = match folder {
        "" => 0,
        _ => folder.len() + 1,
    };
    // All files have in common what the first and the last one have.
    let first = files.iter().map(|at| path(*at)).min().unwrap_or_default();
    let last = files.iter().map(|at| path(*at)).max().unwrap_or_default();
    let common = first.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
    let common = first.as_bytes()[..common].iter().rposition(|byte| *byte == b'/').map_or(0, |end| end + 1);
    let before = if files.len() > 1 { before.max(common) } else { before };
    let mut parts: BTreeMap<(&str, bool), Vec<usize>> = BTreeMap::new();
    for at in files {
        let path = path(at);
        let (end, is_folder) = match path[before..].find('/') {
            Some(end) => (before + end, true),
            None => (path.len(), false),
        };
        parts.entry((&path[..end], is_folder)).or_default().push(at);
    }
    let part = |((part, is_folder), files): ((&str, bool), Vec<usize>)| {
        let lines = files.iter().map(|at| code.files[*at].lines).sum();
        match files.as_slice() {
            // A folder with one file is that file.
            [only] => Part { path: path(*only).to_owned(), is_folder: false, files, lines },
            _ => Part { path: part.to_owned(), is_folder, files, lines },
        }
    };
    parts.into_iter().map(part).collect()
}

/// Keeps the `most` largest parts, and returns the number of the others.
fn cut(parts: &mut Vec<Part>, most: usize) -> usize {
    parts.sort_by(by_size);
    let omitted = parts.len().saturating_sub(most);
    parts.truncate(most);
    omitted
}

fn by_size(one: &Part, other: &Part) -> std::cmp::Ordering {
    other.lines.cmp(&one.lines).then_with(|| one.path.cmp(&other.path))
}

/// The layers of some parts, from the top, and the imports between them, by index.
#[derive(Debug, Default)]
struct Layers {
    layers: Vec<u32>,
    edges: Vec<MapEdge>,
}

/// Returns an edge between the nodes with other indices.
fn renumbered(edge: MapEdge, index: impl Fn(u32) -> u32) -> MapEdge {
    MapEdge { from: index(edge.from), to: index(edge.to), ..edge }
}

fn layers(code: &Code, parts: &[Part]) -> Layers {
    let part_of: HashMap<usize, usize> = parts
        .iter()
        .enumerate()
        .flat_map(|(part, own)| own.files.iter().map(move |at| (*at, part)))
        .collect();
    let mut imports: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for (from, part) in parts.iter().enumerate() {
        for at in &part.files {
            let targets = code.files[*at].imports.iter().filter_map(|target| part_of.get(target));
            let mut targets: Vec<usize> = targets.copied().filter(|to| *to != from).collect();
            targets.sort_unstable();
            targets.dedup();
            targets.into_iter().for_each(|to| *imports.entry((from, to)).or_default() += 1);
        }
    }
    let mut edges: Vec<(usize, usize, u32)> =
        imports.into_iter().map(|((from, to), count)| (from, to, count)).collect();
    edges.sort_by_key(|(from, to, count)| (std::cmp::Reverse(*count), *from, *to));
    let mut graph = DiGraph::<(), ()>::new();
    let nodes: Vec<NodeIndex> = parts.iter().map(|_| graph.add_node(())).collect();
    // Of the imports that form a circle, the weakest one leads upwards.
    for (from, to, _) in &edges {
        if !has_path_connecting(&graph, nodes[*to], nodes[*from], None) {
            graph.add_edge(nodes[*from], nodes[*to], ());
        }
    }
    let layers = by_longest_path(&graph);
    let implied: Vec<bool> =
        edges.iter().map(|(from, to, _)| is_implied(&graph, nodes[*from], nodes[*to])).collect();
    for (from, to, _) in &edges {
        graph.update_edge(nodes[*from], nodes[*to], ());
    }
    let mut circle_of = vec![0; parts.len()];
    for (circle, members) in tarjan_scc(&graph).into_iter().enumerate() {
        members.into_iter().for_each(|node| circle_of[node.index()] = circle);
    }
    let edges = edges.into_iter().zip(implied).map(|((from, to, imports), is_implied)| MapEdge {
        from: from as u32,
        to: to as u32,
        imports,
        is_circular: circle_of[from] == circle_of[to],
        is_implied,
    });
    Layers { layers, edges: edges.collect() }
}

/// Returns whether other nodes lead from one node to another as well.
fn is_implied(graph: &DiGraph<(), ()>, from: NodeIndex, to: NodeIndex) -> bool {
    let mut others = graph.neighbors(from).filter(|next| *next != to);
    others.any(|next| has_path_connecting(graph, next, to, None))
}

/// Returns the layer of each node: below all that lead to it. Nodes without edges are in the last one.
fn by_longest_path(graph: &DiGraph<(), ()>) -> Vec<u32> {
    let mut layers = vec![0; graph.node_count()];
    for node in toposort(graph, None).unwrap_or_default() {
        let above =
            graph.neighbors_directed(node, Direction::Incoming).map(|above| layers[above.index()] + 1);
        layers[node.index()] = above.max().unwrap_or(0);
    }
    let last = layers.iter().max().copied().unwrap_or(0);
    let is_alone = |node: NodeIndex| graph.neighbors_undirected(node).next().is_none();
    let has_edges = graph.edge_count() > 0;
    graph
        .node_indices()
        .filter(|node| has_edges && is_alone(*node))
        .for_each(|node| layers[node.index()] = last + 1);
    layers
}

/// Returns the pairs of paths at the top of the map that import each other.
pub(super) fn circles(map: &CodeMap) -> impl Iterator<Item = (&str, &str)> {
    let is_top =
        |edge: &&MapEdge| map.nodes.get(edge.from as usize).is_some_and(|node| node.parent.is_none());
    let has_back =
        |edge: &&MapEdge| map.edges.iter().any(|other| other.from == edge.to && other.to == edge.from);
    let pairs = map.edges.iter().filter(is_top).filter(|edge| edge.from < edge.to).filter(has_back);
    pairs.filter_map(|edge| {
        let path = |at: u32| map.nodes.get(at as usize).map(|node| node.path.as_str());
        Some((path(edge.from)?, path(edge.to)?))
    })
}
