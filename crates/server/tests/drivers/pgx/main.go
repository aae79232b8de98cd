// A session with pgx: statements, types, batches, COPY, and a pool. The server's address comes from libpq's environment variables.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		must(fmt.Errorf("%#v is not %#v", found, expected))
	}
}

func code(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return fmt.Sprint(err)
}

type row struct {
	ID    int32
	Flag  bool
	Small int16
	Big   int64
	Real8 float64
	Name  *string
	Data  []byte
	Day   time.Time
	At    time.Time
}

func values(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, `CREATE TABLE t (id int PRIMARY KEY, flag bool, small int2, big int8, real8 float8,
		name text, data bytea, day date, at timestamptz, price numeric(10, 2))`)
	must(err)
	name := "näme"
	first := row{1, true, -2, 1 << 40, -2.25, &name, []byte{0, 255}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)}
	second := first
	second.ID, second.Name = 2, nil
	for _, r := range []row{first, second} {
		_, err = conn.Exec(ctx, "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
			r.ID, r.Flag, r.Small, r.Big, r.Real8, r.Name, r.Data, r.Day, r.At, "12.30")
		must(err)
	}
	rows, err := conn.Query(ctx, "SELECT id, flag, small, big, real8, name, data, day, at FROM t WHERE id <= $1 ORDER BY id", 2)
	must(err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	must(err)
	for at := range found {
		found[at].At = found[at].At.UTC()
	}
	check(found, []row{first, second})
	var price string
	must(conn.QueryRow(ctx, "SELECT price::text FROM t WHERE id = 1").Scan(&price))
	check(price, "12.30")
	check(code(conn.QueryRow(ctx, "SELECT id FROM t WHERE id = 9").Scan(&price)), pgx.ErrNoRows.Error())
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		var sum int64
		must(conn.QueryRow(ctx, "SELECT sum(big)::int8 FROM t WHERE id > $1", mode, 0).Scan(&sum))
		check(sum, int64(2<<40))
	}
}

type document struct {
	Name string         `json:"name"`
	More map[string]any `json:"more"`
}

func documents(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE j (id int PRIMARY KEY, j json, b jsonb)")
	must(err)
	first := document{"näme", map[string]any{"list": []any{1.5, nil, "x"}}}
	for at, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec} {
		text := `{"name": "text"}`
		_, err = conn.Exec(ctx, "INSERT INTO j VALUES ($1, $2, $3)", mode, at, text, first)
		must(err)
		var found document
		var part, raw string
		must(conn.QueryRow(ctx, "SELECT b, b #>> '{more,list,2}', j::text FROM j WHERE id = $1", mode, at).Scan(&found, &part, &raw))
		check(found, first)
		check([]string{part, raw}, []string{"x", text})
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"j"}, []string{"id", "j", "b"}, pgx.CopyFromRows([][]any{{10, first, first}}))
	must(err)
	var count int
	must(conn.QueryRow(ctx, "SELECT count(*) FROM j WHERE b @> $1", map[string]any{"name": "näme"}).Scan(&count))
	check(count, 4)
}

func transactions(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "INSERT INTO t (id) VALUES (1)")
	check(code(err), "23505")
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	must(err)
	_, err = tx.Exec(ctx, "DELETE FROM t")
	must(err)
	nested, err := tx.Begin(ctx)
	must(err)
	_, err = nested.Exec(ctx, "SELECT 1 / $1::int", 0)
	check(code(err), "22012")
	must(nested.Rollback(ctx))
	var count int
	must(tx.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&count))
	check(count, 0)
	must(tx.Rollback(ctx))
	batch := &pgx.Batch{}
	for id := 10; id < 20; id++ {
		batch.Queue("INSERT INTO t (id, big) VALUES ($1, $2)", id, id*id)
	}
	batch.Queue("SELECT count(*) FROM t").QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
	must(conn.SendBatch(ctx, batch).Close())
	check(count, 12)
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "name", "at"},
		pgx.CopyFromSlice(100, func(at int) ([]any, error) { return []any{int32(100 + at), fmt.Sprint(at), time.Now()}, nil }))
	must(err)
	check(copied, int64(100))
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	other, err := pgx.Connect(ctx, "")
	must(err)
	defer other.Close(ctx)
	lock, err := other.Begin(ctx)
	must(err)
	_, err = lock.Exec(ctx, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
	must(err)
	third, err := pgx.Connect(ctx, "")
	must(err)
	if _, err = third.Exec(short, "UPDATE t SET big = 0 WHERE id = 1"); err == nil {
		must(errors.New("it waited for nobody"))
	}
	must(lock.Rollback(ctx))
}

// contend has ten connections add to one row; whoever is told to tries again.
func contend(ctx context.Context) {
	pool, err := pgxpool.New(ctx, "pool_max_conns=10")
	must(err)
	defer pool.Close()
	_, err = pool.Exec(ctx, "CREATE TABLE counter (id int PRIMARY KEY, n int8 NOT NULL)")
	must(err)
	_, err = pool.Exec(ctx, "INSERT INTO counter VALUES (1, 0)")
	must(err)
	var group sync.WaitGroup
	for client := 0; client < 100; client++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				_, err := pool.Exec(ctx, "UPDATE counter SET n = n + $1 WHERE id = $2", 1, 1)
				if err == nil {
					return
				}
				if found := code(err); found != "40001" && found != "40P01" {
					must(err)
				}
			}
		}()
	}
	group.Wait()
	var sum int64
	must(pool.QueryRow(ctx, "SELECT n FROM counter").Scan(&sum))
	check(sum, int64(100))
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	values(ctx, conn)
	documents(ctx, conn)
	transactions(ctx, conn)
	must(conn.Close(ctx))
	contend(ctx)
	fmt.Println("ok")
}
