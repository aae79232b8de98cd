-- Settings that say how values are written and read.
drop schema if exists written cascade
create schema written
set search_path to written
set datestyle to 'ISO, DMY'
select date '1/8/1999', '13/1/1999'::date, timestamp '2/3/1999 04:05'
set datestyle to 'ISO, YMD'
select date '99-1-8'
set datestyle to 'SQL, DMY'
select date '1999-01-08', now()::text ~ '^\d\d/'
set datestyle to 'German'
select date '1999-01-08'
set datestyle to 'Postgres, MDY'
select date '1999-01-08', timestamp '1999-01-08 04:05:06.7', timestamptz '1999-01-08 04:05:06.7'
set datestyle to default
set datestyle to 'ISO, ISO'
set datestyle to 'ISO, DMY, MDY'
reset datestyle
set intervalstyle to 'iso_8601'
select interval '1 year 2 mons -3 days 04:05:06.7'
set intervalstyle to 'sql_standard'
select interval '1 year 2 mons', interval '3 days 04:05:06.7', interval '-1 year +3 days'
select interval '-1 2:03:04'
set intervalstyle to 'postgres_verbose'
select interval '1 year 2 mons -3 days 04:05:06.7'
set intervalstyle to 'nonsense'
reset intervalstyle
set bytea_output to 'escape'
select '\x00616263ff5c'::bytea
set bytea_output to 'nope'
reset bytea_output
set extra_float_digits to 0
select 0.1::float8 + 0.2::float8, 0.1::float4, 1e300::float8/3
set extra_float_digits to -15
select 0.1::float8 + 0.2::float8, 12345.678::float8, 12345.678::float4
set extra_float_digits to 3
select 0.1::float8 + 0.2::float8
set extra_float_digits to 4
reset extra_float_digits
select interval '9223372036854775807 microseconds 0.1 days'
select interval '2147483647.9 days'
select interval '178956970.7 years'
select interval '178956970.8 years'
select interval '2147483647 months' + interval '1 month'
select interval '9223372036854775807 us' * 2
select interval '9223372036854775807 us' + interval '1 us'
select time '10:00' + interval '9223372036854775807 us'
select justify_hours(interval '2147483647 days 24 hours')
select justify_days(interval '2147483647 months 30 days')
select justify_interval(interval '2147483647 months 30 days')
select sum(x) from (values (interval '2147483647 days'), (interval '1 day')) v(x)
select avg(x) from (values (interval '2147483647 days'), (interval '1 day')) v(x)
select timestamp '2000-01-01' - interval '-2147483648 months'
select -interval '-2147483648 months'
select timestamp '294276-12-31 23:59:59.999999' + interval '1 us'
select date '2000-01-01' + interval '2147483647 days'
select timestamp '4714-11-24 BC' - interval '1 us'
select interval '0.9223372036854775807e19 us'
select interval '1e3 s', interval '1.5e-1 day'
select interval 'P1e3Y'
select interval '9223372036854.775808 s'
select interval '-9223372036854775808 us'
select interval '2562047788:00:54.775807'
select interval '2562047788:00:54.775808'
select interval '-2147483648 months ago'
select interval '-9223372036854775808 us ago'
select interval 'P0.1Y1M', interval '1.1 century', interval '0.5 quarter'
select extract(epoch from interval '2147483647 months 2147483647 days')
select age(timestamp '9999-12-31', timestamp '4714-11-24 BC')
select interval '1 day' / 1e-300
select interval '1 day' / 0
select interval '1 month' * 1e300
select interval '1 month' * 'NaN'::float8
select '2011-03-27 02:00:00 Europe/Moscow'::timestamptz
select '2011-03-27 02:30:00 Europe/Moscow'::timestamptz, '2011-03-27 01:59:59 Europe/Moscow'::timestamptz, '2011-03-27 03:00:00 Europe/Moscow'::timestamptz
select '2024-03-10 02:30 America/New_York'::timestamptz
select '2024-11-03 01:30 America/New_York'::timestamptz
select '2024-11-03 00:59 America/New_York'::timestamptz, '2024-11-03 02:00 America/New_York'::timestamptz
select timestamp '2024-03-10 02:30' at time zone 'America/New_York', timestamp '2024-11-03 01:30' at time zone 'America/New_York'
select '2014-10-26 01:30 Europe/Moscow'::timestamptz, '2014-10-26 00:59:59 Europe/Moscow'::timestamptz, '2014-10-26 02:00 Europe/Moscow'::timestamptz
select '2024-03-31 02:30 Europe/Berlin'::timestamptz, '2024-10-27 02:30 Europe/Berlin'::timestamptz
select '2011-12-30 12:00 Pacific/Apia'::timestamptz
select '1800-01-01 00:00 America/New_York'::timestamptz
select '2050-07-01 00:00 America/New_York'::timestamptz
select timestamp '2024-01-01 12:00' at time zone 'EST', timestamptz '2024-01-01 12:00+00' at time zone 'PST8PDT'
select date 'January 8, 99 BC'
select date '8 Jan 99 BC', date '99-01-08 BC', date '0099-01-08 BC', date '01/08/99 BC', date 'Jan 8 99', date '8 January 5 BC'
select to_date('2015 366','YYYY DDD')
select to_date('2016 366','YYYY DDD')
select to_date('2016 367','YYYY DDD')
select to_timestamp('2015 02 Mar','YYYY MM Mon')
select to_timestamp('2015-02-15 02','YYYY-MM-DD MM')
select to_timestamp('2015-02-15 03','YYYY-MM-DD MM')
select to_timestamp('2020-01-01 12:00:00.123456','YYYY-MM-DD HH24:MI:SS.FF4')
select to_char(timestamp '2020-01-01 12:00:00.123456','FF1 FF2 FF3 FF4 FF5 FF6')
select to_char(timestamp '2020-01-01 12:00:00.98765','FF4 FF3 MS US')
select to_timestamp('2011-12-18 11:38 +05:20','YYYY-MM-DD HH12:MI TZH:TZM')
select to_timestamp('2011-12-18 11:38 -05','YYYY-MM-DD HH12:MI TZH')
select to_timestamp('2011-12-18 11:38 20','YYYY-MM-DD HH12:MI TZM')
select to_char(timestamptz '2020-01-01 12:00','TZH:TZM OF TZ tz')
select to_timestamp('2011-12-18 11:38 PST','YYYY-MM-DD HH12:MI TZ')
select to_date('2015-W10-3','IYYY-"W"IW-ID')
select to_date('10 2015','WW YYYY'), to_date('2 03 2015','W MM YYYY')
select to_date('20','CC'), to_date('2 2015','Q YYYY')
select to_timestamp('1,234','Y,YYY'), to_timestamp('2015-02-30','YYYY-MM-DD')
select to_date('2015-13-01','YYYY-MM-DD')
select to_timestamp('25:00','HH24:MI')
select to_timestamp('12:00 PM','HH12:MI AM'), to_timestamp('86399','SSSS')
select to_timestamp('86400','SSSS')
select to_date('99-1-1','YY-MM-DD'), to_date('-44-02-01','YYYY-MM-DD'), to_date('44-02-01 BC','YYYY-MM-DD BC'), to_date('-44-02-01 BC','YYYY-MM-DD BC')
select to_date('0000-02-01','YYYY-MM-DD')
select to_date('1 Feb 2015 Mon','DD Mon YYYY Dy'), to_date('II 2015','RM YYYY')
select to_timestamp('2015 2016','YYYY YYYY')
select to_date('2015 33','YYYY MM')
select to_date('January 2015','TMMonth YYYY')
select to_timestamp('0097/Feb/16 --> 08:14:30', 'YYYY/Mon/DD --> HH:MI:SS')
select to_timestamp('97/2/16 8:14:30', 'FMYYYY/FMMM/FMDD FMHH:FMMI:FMSS')
select to_timestamp('2011$March 18 23_38_15', 'YYYY-MonthDD-HH24-MI-SS')
select to_timestamp('15 "text between quote marks" 98 54 45', E'HH24 "\\"text between quote marks\\"" YY MI SS')
select to_timestamp('05121445482000', 'MMDDHH24MISSYYYY')
select to_timestamp('2000January09Sunday', 'YYYYFMMonthDDFMDay')
select to_timestamp('97/Feb/16', 'YYMonDD')
select to_timestamp('2005527', 'YYYYIWID')
select to_timestamp('19971', 'YYYYMMDD')
select to_timestamp('19971)24', 'YYYYMMDD')
select to_timestamp('199711xy', 'YYYYMMDD')
select to_timestamp('20001231T235959', 'YYYYMMDD"T"HH24MISS')
select to_timestamp('2016-06-13 99:99:99', 'YYYY-MM-DD HH24:MI:SS')
select to_timestamp('2016-02-30 15:00', 'YYYY-MM-DD HH24:MI')
create table o(x int, y int)
insert into o values (1,10),(2,20),(3,30)
create table t(a int primary key, b int)
insert into t values (1,1),(2,2),(3,3)
!0A000 select (select count(*) filter (where o.x > 1) from t) from o
!0A000 select (select sum((select o.x)) from t) from o
!0A000 select (select sum(o.x + (select max(b) from t)) from t) from o
select x, (select count(*) filter (where o.x > t.a) from t) from o order by x
select x, (select sum((select o.x + t.a)) from t) from o order by x
!0A000 select (select array_agg(1 order by o.x) from t) from o
!0A000 select (select string_agg('a', o.x::text) from t) from o
select distinct on (x) x, generate_series(1,2) from o order by x
select distinct on (x) x, generate_series(1,2) from o
select x, generate_series(1,2) from o order by x limit 3
select x, generate_series(1,2) g from o order by g, x
select x, generate_series(1,2) g from o order by y desc, x
select distinct on (y) x, generate_series(1,2) g from o order by y, g
select y, sum(x), generate_series(1,2) from o group by y order by y limit 3
create sequence s
select nextval('s'), x from o order by x desc limit 2
select nextval('s')
select nextval('s') n, x from o order by x desc offset 1 limit 1
select nextval('s')
select nextval('s') n, x from o order by n desc
select nextval('s') n, x from o order by x desc, n
select distinct on (x) x, nextval('s') from o order by x desc
select x, nextval('s') + x, (select max(a) from t) from o order by y desc
select x, sum(y), nextval('s') from o group by x order by x desc limit 1
select nextval('s') from o order by (select -o.x) limit 1
select nextval('s')
begin read only
savepoint a
set transaction_read_only = off
rollback
begin read only
savepoint a
set transaction read write
rollback
begin
select 1
savepoint a
set transaction read only
insert into o values (9,9)
rollback to a
insert into o values (9,9)
set transaction read only
release a
insert into o values (10,9)
rollback
begin
select 1
set transaction_read_only = on
show transaction_read_only
insert into o values (9,9)
rollback
begin read only
select 1
set transaction read write
rollback
begin
savepoint a
set transaction isolation level serializable
rollback
begin
select 1
set transaction isolation level serializable
rollback
create table c1(a int) on commit drop
create table c1(a int) on commit delete rows
create table c1(a int) on commit preserve rows
create table c2(a int) with (fillfactor=70)
listen written_b
listen "Written A"
listen written_b
select * from pg_listening_channels()
select c || '!' from pg_listening_channels() with ordinality x(c, n) order by n desc
begin
unlisten *
listen written_c
select count(*) from pg_listening_channels()
rollback
begin read only
unlisten written_b
notify written_unheard, 'x'
commit
select pg_listening_channels()
notify written_unheard, e'\\x41\tb'
notify written_unheard, $a$ b $a$
notify written_unheard, 5
notify written_unheard, 'a', 'b'
notify ""
notify 'a'
listen *
listen 'a'
unlisten a, b
select pg_notify('', 'x')
select pg_notify(null, 'x')
select pg_notify(repeat('x', 64), 'x')
select pg_notify('written_unheard', repeat('x', 8000))
select pg_notify('x')
select pg_notify('x', 1)
select count(pg_notify('written_unheard', n::text)) from generate_series(1, 3) n
do $$ begin unlisten *; notify written_unheard, 'x'; perform pg_notify('', 'x'); end $$
do $$ begin unlisten *; listen written_d; end $$
select pg_listening_channels()
create function written_notify() returns int language plpgsql as $$ begin listen written_e; notify written_unheard, 'x'; unlisten written_d; return 1; end $$
select written_notify()
select pg_listening_channels()
unlisten *
select pg_listening_channels()
select pg_notification_queue_usage() < 1
discard sequences
select currval('s')
select lastval()
set role nosuch
set role none
set role postgres
show role
reset role
set session authorization nosuch
set session authorization default
reset session authorization
grant select on nosuch to public
grant select on o to nosuch
grant select on o, nosuch to public
grant select on o to public
revoke select on nosuch from public
grant usage on schema nosuch to public
grant usage on sequence nosuch to public
grant select on all tables in schema nosuch to public
grant connect on database nosuch to public
grant nosuchpriv on o to public
grant select (x) on o to public
grant select (nocol) on o to public
grant all privileges on table o to postgres with grant option
alter table nosuch owner to postgres
create table d1(v varchar(10), t text, i int)
insert into d1 values ('b','b',2),('a','a',1),('b','b',2)
select string_agg(distinct v, ',' order by v::text) from d1
select string_agg(distinct t, ',' order by t::text) from d1
select string_agg(distinct i::text, ',' order by i) from d1
select string_agg(distinct t, ',' order by v) from d1
select string_agg(distinct t, ',' order by t, i) from d1
select string_agg(distinct t, ',' order by ',') from d1
select string_agg(distinct t, ',' order by t desc) from d1
select array_agg(distinct i order by i::bigint) from d1
select array_agg(distinct v order by v::text) from d1
select array_agg(distinct i order by -i) from d1
select count(distinct i order by -i) from d1
create table k1(a int constraint c check (a>0), b int constraint c check (b>0))
create table k2(a int constraint c unique, b int constraint c check (b>0))
create table k3(a int constraint c unique, b int constraint c unique)
create table k4(a int primary key, b int constraint c references t, d int constraint c references t)
create table k5(a int, constraint c check (a>0), constraint c unique(a))
create table k6(a int, b int)
alter table k6 add constraint c check (a>0), add constraint c unique (a)
alter table k6 add constraint c2 check (a>0)
alter table k6 add constraint c2 unique (a)
alter table k6 add constraint c2 foreign key (a) references t
alter table k6 add constraint c2 check (b > 0)
alter table k6 add constraint c3 foreign key (a) references t
alter table k6 add constraint c3 primary key (a)
create table aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb int primary key)
select * from aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
select 1abc
select 1 abc
select 1e
select 1.5x
select 0x1F
select 1_000
select 1.e
select 12from t
-- Rows without a key come in the order in which they were inserted.
create table p0(a int, b text)
insert into p0 values (1,'x'),(2,'y'),(3,'z')
insert into p0 values (4,'w')
select * from p0
delete from p0 where a = 2
insert into p0 values (5,'v')
select array_agg(a) from p0
select * from p0 limit 2
update p0 set b = 'q' where a = 1
-- Defaults that do not fit are refused where they are wanted.
create table w1(a int, v varchar(14) default '1234567890123456789012345678', n numeric(3,1) default 12345, s smallint default 100000, c char(2) default 'abcdef')
insert into w1(a,v,n,s,c) values (1,'x',1,1,'a')
insert into w1(a,n,s,c) values (1,1,1,'a')
insert into w1(a,v,s,c) values (1,'x',1,'a')
insert into w1(a,v,n,c) values (1,'x',1,'a')
insert into w1(a,v,n,s) values (1,'x',1,1)
alter table w1 alter column v set default '123456789012345678901234'
alter table w1 add column z varchar(3) default 'abcdef'
create table w2(a int default 'abc')
create table w3(a varchar(3) default 'abcdef'::varchar(3), b varchar(3) default 'abcdef'::text)
insert into w3 default values
insert into w3(a, b) values (default, 'x')
select * from w3
-- A default is shown as it was written.
create table q1(n numeric(10,2) default 1, m numeric default 1.50, i int default '5', b bigint default 7, f float8 default 1, v varchar(14) default 'abc', t text default 'x', ts timestamp default '2020-01-02 03:04', bo boolean default true, iv interval default '1 day', sm smallint default 3, r real default 1.25)
select a.attname::text, pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adrelid = 'q1'::regclass order by a.attnum
insert into q1 default values
select * from q1
select jsonb_path_query('{"a": [1, 2, {"b": 3}]}', '$.a[*] ? (@ >= 2 || exists(@.b))')
select '{"a": [1, 2]}' @? '$.a ? (@ > 1)', '{"a": 1}' @@ '$.a == 1', jsonb_path_query_array('[1, [2, 3]]', '$[*]', silent => true)
select jsonb_path_exists('1', '$ ? (@ > $x)', vars => '{"x": 0}'), jsonb_path_query_first('[]', '$[*]')
select jsonb_path_query('1', 'strict $.a')
select interval(1) '1.26 s', 1 isnull, null isnull is true
show DateStyle
set enable_hashjoin = off
show enable_hashjoin
reset enable_hashjoin
create materialized view mv (x, y) as select g, g * 2 from generate_series(1, 3) g
select * from mv order by x
refresh materialized view mv with no data
select * from mv
refresh materialized view mv
select sum(y) from mv
insert into mv values (1, 2)
drop materialized view mv
create table vt (a int primary key, b text default 't', n int)
create view vw as select a, b, n * 2 as twice, n from vt where n > 0 with check option
alter view vw alter b set default 'v'
insert into vw (a, n) values (1, 1), (2, 2) returning *
insert into vw (a, n) values (3, 0)
insert into vw (a, twice) values (3, 2)
update vw set n = twice where a = 1 returning *
update vw set n = -n where a = 1
delete from vw using vt where vt.a = vw.a and vt.n = 2 and vw.a = 1 returning vw.*, vt.b
create view vs as select sum(n) as s from vt
delete from vs
create function vf() returns trigger language plpgsql as $$ begin insert into vt values (new.s, 'vs', new.s); return new; end $$
create trigger vf instead of insert on vs for each row execute function vf()
insert into vs values (7) returning s
update vs set s = 1
select * from vs
select pg_relation_is_updatable('vs'::regclass, true), pg_column_is_updatable('vw'::regclass, 3::smallint, false)
drop view vw, vs
drop schema written cascade
