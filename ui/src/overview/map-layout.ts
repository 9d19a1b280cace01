import type { CodeMap, MapNode } from '../connection/wire';

/** A box of the map, in pixels. */
export interface Box {
  /** Index of the node. */
  at: number;
  node: MapNode;
  x: number;
  y: number;
  width: number;
  height: number;
  /** It is a folder, which can be unfolded. */
  folder: boolean;
  unfolded: boolean;
}

/** An arrow between two boxes; both ends are indices of nodes. */
export interface Arrow {
  from: number;
  to: number;
  /** Path of an SVG. */
  path: string;
  imports: number;
  circular: boolean;
  implied: boolean;
  /** Both boxes are in an unfolded one. */
  inner: boolean;
}

export interface Layout {
  boxes: Box[];
  arrows: Arrow[];
  height: number;
}

const NARROWEST = 136;
const WIDEST = 236;
const HEIGHT = 70;
/** Height of the text above the boxes in an unfolded one. */
const HEAD = 70;
const GAP = 12;
/** Space between layers, where arrows run. */
const BETWEEN = 34;

/** Lays the map out from the top down: a layer per row, which wraps at `width`. `unfolded` is the index of a node, or -1. */
export function layOut(map: CodeMap, width: number, unfolded: number): Layout {
  const most = Math.max(1, ...map.nodes.map((node) => node.lines));
  const boxes: Box[] = [];
  const place = (parent: number | undefined, left: number, top: number, room: number): number => {
    const own = map.nodes.map((node, at) => ({ node, at })).filter(({ node }) => node.parent === parent);
    const layers = [...new Set(own.map(({ node }) => node.layer))].sort((a, b) => a - b);
    let y = top;
    for (const layer of layers) {
      if (y > top) y += BETWEEN;
      const inLayer = own.filter(({ node }) => node.layer === layer);
      for (const row of rows(inLayer, room, most, unfolded)) {
        if (y > top && boxes.some((box) => box.node.layer === layer && box.node.parent === parent)) y += GAP;
        const filled = row.reduce((sum, item) => sum + item.width + GAP, -GAP);
        let x = left + Math.max(0, (room - filled) / 2);
        let height = HEIGHT;
        for (const { node, at, width } of row) {
          const box: Box = {
            at,
            node,
            x,
            y,
            width,
            height: HEIGHT,
            folder: node.path.endsWith('/'),
            unfolded: at === unfolded,
          };
          boxes.push(box);
          if (at === unfolded) {
            box.height = place(at, x + GAP, y + HEAD, width - 2 * GAP) - y + GAP;
            height = Math.max(height, box.height);
          }
          x += width + GAP;
        }
        y += height;
      }
    }
    return y;
  };
  const height = place(undefined, 0, 0, width);
  return { boxes, arrows: arrows(map, boxes), height };
}

interface Item {
  node: MapNode;
  at: number;
  width: number;
}

/** Fills rows with boxes; more lines make a box wider. An unfolded box has a row to itself. */
function rows(items: { node: MapNode; at: number }[], room: number, most: number, unfolded: number): Item[][] {
  const rows: Item[][] = [];
  let left = 0;
  for (const { node, at } of items) {
    const whole = at === unfolded;
    const size = NARROWEST + (WIDEST - NARROWEST) * Math.sqrt(node.lines / most);
    // Two fit next to each other on a phone.
    const width = whole ? room : Math.min(size, Math.max(NARROWEST, (room - GAP) / 2), room);
    const last = rows.at(-1);
    if (last === undefined || whole || left < width) {
      rows.push([{ node, at, width }]);
      left = whole ? 0 : room - width - GAP;
    } else {
      last.push({ node, at, width });
      left -= width + GAP;
    }
  }
  return rows;
}

function arrows(map: CodeMap, boxes: readonly Box[]): Arrow[] {
  const byNode = new Map(boxes.map((box) => [box.at, box]));
  return map.edges.flatMap((edge) => {
    const [from, to] = [byNode.get(edge.from), byNode.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const { imports, is_circular: circular = false, is_implied: implied = false } = edge;
    return [
      {
        from: edge.from,
        to: edge.to,
        path: curve(from, to),
        imports,
        circular,
        implied,
        inner: from.node.parent !== undefined,
      },
    ];
  });
}

/** From the lower edge of a box to the upper edge of another, the other way round if that is above it. */
function curve(from: Box, to: Box): string {
  const down = to.y >= from.y + from.height;
  const [x1, x2] = [from.x + from.width / 2, to.x + to.width / 2];
  const [y1, y2] = down ? [from.y + from.height, to.y] : [from.y, to.y + to.height];
  const bend = (y2 - y1) * 0.5;
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}
