-- Put the nodes of a flow on record, from columns; one of nothing but nulls comes as null.
INSERT INTO holdfast_node (job_id, flow_id, name, item, join_kind, need, parents, taken, dead, broken)
SELECT job_id, flow_id, name, item, join_kind, need, parents, taken, dead, broken
FROM unnest(
    :job_id::uuid[], :flow_id::uuid[], :name::text[], :item::integer[], :join_kind::text[], :need::integer[],
    :parents::integer[], :taken::integer[], :dead::integer[], :broken::integer[]
) AS n (job_id, flow_id, name, item, join_kind, need, parents, taken, dead, broken)
