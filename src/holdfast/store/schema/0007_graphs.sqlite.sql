-- A flow as it stands: how many of its nodes have not ended, and how those that have not ended well did.
CREATE TABLE holdfast_flow (
    id text NOT NULL PRIMARY KEY,
    on_failure text NOT NULL,
    nodes integer NOT NULL,
    open integer NOT NULL,
    failed integer NOT NULL,
    cancelled integer NOT NULL
) STRICT;

-- A node of a flow, and how the edges into it stand.
CREATE TABLE holdfast_node (
    job_id text NOT NULL PRIMARY KEY,
    flow_id text NOT NULL,
    name text NOT NULL,
    item integer,
    join_kind text NOT NULL,
    need integer NOT NULL,
    parents integer NOT NULL,
    taken integer NOT NULL,
    dead integer NOT NULL,
    broken integer NOT NULL
) STRICT;
CREATE INDEX holdfast_node_flow ON holdfast_node (flow_id, name, item);

-- `cut`: the parent's branch left the child out.
CREATE TABLE holdfast_edge (
    parent_id text NOT NULL,
    child_id text NOT NULL,
    cut integer NOT NULL,
    PRIMARY KEY (parent_id, child_id)
) STRICT;
CREATE INDEX holdfast_edge_child ON holdfast_edge (child_id);

-- When a waiting job moves up, and to which turn.
CREATE TABLE holdfast_deadline (
    job_id text NOT NULL,
    at_ms integer NOT NULL,
    turn integer NOT NULL,
    PRIMARY KEY (job_id, at_ms)
) STRICT;
CREATE INDEX holdfast_deadline_at ON holdfast_deadline (at_ms);
